OMP_NUM_THREADS=8 NCCL_DEBUG="WARN" numactl --cpunodebind=0 --membind=0 python -m sglang.launch_server --model /models/a --tp-size 4 2>&1 | tee launch.log
