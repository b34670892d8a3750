import hashlib, os, sys
from huggingface_hub import HfApi, snapshot_download

repository, revision, target = sys.argv[1:4]
snapshot_download(repository, revision=revision, local_dir=target)
files = HfApi().model_info(repository, revision=revision, files_metadata=True).siblings
bad = []
for file in files:
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
    print("verified", file.rfilename, flush=True)
for name in bad:
    os.remove(os.path.join(target, name))
if bad:
    sys.exit("wrong, and removed so that the next try fetches them anew: " + ", ".join(bad))
print("complete", len(files), "files")
