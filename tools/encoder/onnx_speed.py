"""onnx_speed.py ARTIFACT PIECES RUNS: tokens/s of onnxruntime with the model in a Maven artifact, on one thread, by processor time.

PIECES is a list of lists of word pieces, one for each text. The median of the runs is printed.
"""
import json, statistics, sys, time, zipfile
import numpy, onnxruntime

artifact, pieces, runs = sys.argv[1:]
with zipfile.ZipFile(artifact) as archive:
    [name] = [n for n in archive.namelist() if n.endswith(".onnx")]
    model = archive.read(name)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
inputs = {i.name for i in session.get_inputs()}
texts = [numpy.array([text], numpy.int64) for text in json.load(open(pieces))]


def read(text):
    every = {"input_ids": text, "attention_mask": numpy.ones_like(text), "token_type_ids": numpy.zeros_like(text)}
    session.run(None, {name: value for name, value in every.items() if name in inputs})


took = []
for _ in range(int(runs)):
    began = time.process_time()
    for text in texts:
        read(text)
    took.append(time.process_time() - began)
print(round(sum(text.size for text in texts) / statistics.median(took)))
