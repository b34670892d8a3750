import datetime, json, os, time
import torch
import torch.distributed as dist

dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=240))
for size in (16 << 10, 1 << 20, 64 << 20, 256 << 20):
    data = torch.ones(size // 2, dtype=torch.bfloat16, device="cuda")
    rounds = 100 if size < 1 << 22 else 20
    for _ in range(5):
        dist.all_reduce(data)
    right = float(data[0]) == 2.0 ** 5
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / rounds
    print("all_reduce=" + json.dumps({"bytes": size, "seconds": seconds, "right": right}), flush=True)
try:
    with open("/sys/class/net/" + os.environ["CABLE"] + "/speed") as file:
        print("link_mbps=" + file.read().strip(), flush=True)
except OSError:
    pass
dist.destroy_process_group()
print("end=1", flush=True)
