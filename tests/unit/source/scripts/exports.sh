export A=1 B="two words" C=$'x\ty' "D=four 4" E
F=before
export F
G=1; G=2; export G
export -n G
H+=x; export H
export I="${A}${B}"; I+=more
export J='$A' K=~/cache L=a:~/b
A=3 python -m sglang.launch_server --model-path ~/models "$A" ~ a~ --p=~/x
