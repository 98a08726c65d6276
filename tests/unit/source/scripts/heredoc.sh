cat > /tmp/notes.txt <<EOF
python -m sglang.launch_server --model-path /models/not-this $X
EOF
cat <<'EOF' >/dev/null
$(rm -rf /nothing)
EOF
python -m sglang.launch_server --model-path /models/this
