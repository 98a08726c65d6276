python -m sglang.launch_server --model-path '/m/it'"'"'s' --served-model-name "a \"b\" \$HOME \\ \x" \
  --chat-template $'tab\there\x41\u00e9\101' a\ b \$x "" '' "multi
line" --x="{\"a\": [1, 2]}" un'quo'"ted"\ one \# --flag\=x a#b $'cut\0off'here
