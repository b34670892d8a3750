import hashlib, os, sys, threading
from huggingface_hub import HfApi, snapshot_download

repository, revision, target = sys.argv[1:4]
files = HfApi().model_info(repository, revision=revision, files_metadata=True).siblings
total = sum(file.size for file in files)


def on_disk():
    return sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(target) for name in names)


# The last line of the log is what `codex-ds deploy status` shows.
done = threading.Event()


def tell():
    while not done.wait(30):
        try:
            print(f"fetched {min(on_disk(), total) / 2**30:.1f} of {total / 2**30:.1f} GiB", flush=True)
        except OSError:
            pass  # a file was renamed in between


threading.Thread(target=tell, daemon=True).start()
snapshot_download(repository, revision=revision, local_dir=target)
done.set()
bad = []
for number, file in enumerate(files, 1):
    path = os.path.join(target, file.rfilename)
    if os.path.getsize(path) != file.size:
        bad.append(file.rfilename)
        continue
    if file.lfs:
        digest = hashlib.sha256()
        with open(path, "rb") as opened:
            while block := opened.read(1 << 24):
                digest.update(block)
        if digest.hexdigest() != file.lfs.sha256:
            bad.append(file.rfilename)
            continue
    print(f"verified {number} of {len(files)} files: {file.rfilename}", flush=True)
for name in bad:
    os.remove(os.path.join(target, name))
if bad:
    sys.exit("wrong, and removed so that the next try fetches them anew: " + ", ".join(bad))
print("complete", len(files), "files")
