"""A logits processor for vLLM that makes the model say what a test wants.

SCRIPTED_ANSWERS names a JSON file: a list of {"when": TEXT, "say": TEXT}. A request gets the first
answer whose "when" stands in its rendered prompt, token by token; all else is vLLM's own.
"""

import json
import os

from vllm.v1.sample.logits_processor import AdapterLogitsProcessor


class Scripted(AdapterLogitsProcessor):
    def __init__(self, vllm_config, device, is_pin_memory):
        super().__init__(vllm_config, device, is_pin_memory)
        from tokenizers import Tokenizer

        model = vllm_config.model_config
        self.tokenizer = Tokenizer.from_file(os.path.join(model.tokenizer, "tokenizer.json"))
        self.end = model.hf_config.eos_token_id
        with open(os.environ["SCRIPTED_ANSWERS"], encoding="utf-8") as answers:
            self.answers = json.load(answers)

    @classmethod
    def validate_params(cls, params):
        pass

    def is_argmax_invariant(self):
        return False

    def answer(self, prompt):
        text = self.tokenizer.decode(prompt, skip_special_tokens=False)
        for answer in self.answers:
            if answer["when"] in text:
                said = self.tokenizer.encode(answer["say"], add_special_tokens=False)
                return [*said.ids, self.end]
        return None

    def new_req_logits_processor(self, params):
        wanted = []

        def force(prompt, output, logits):
            if not wanted:
                wanted.append(self.answer(list(prompt)))
            tokens = wanted[0]
            if tokens is None:
                return logits
            token = tokens[min(len(output), len(tokens) - 1)]
            logits.fill_(float("-inf"))
            logits[token] = 0.0
            return logits

        return force
