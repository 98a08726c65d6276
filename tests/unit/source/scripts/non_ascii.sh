# größer
export NAME="Größe ${HOME}é"
A=1
python -m sglang.launch_server --served-model-name "modèle-日本" --näme $NAME $Aé "$éA" ${A}é --nbsp a b 　 {🙂} 🙂 # é
