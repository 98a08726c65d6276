NAME=DeepSeek-V4.tar
SIZE=4
python -m sglang.launch_server --model-path "/models/${NAME%.tar}" --served-model-name ${NAME#Deep} --x ${#NAME} --y ${NAME:0:4} --z $((SIZE * 2 + 1)) --low ${NAME,,} --p "${SIZE}k" $SIZE$SIZE
