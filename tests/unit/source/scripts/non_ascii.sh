# größer
export NAME="Größe ${HOME}é"
python -m sglang.launch_server --served-model-name "modèle-日本" --näme $NAME # é
