package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of ONNX's messages that are read (onnx.proto).
const (
	modelGraph        = 7
	graphNode         = 1
	graphInitializer  = 5
	nodeInput         = 1
	nodeName          = 3
	nodeType          = 4
	tensorDimensions  = 1
	tensorType        = 2
	tensorName        = 8
	tensorRaw         = 9
	typeFloat         = 1
	matrixMultiply    = "MatMul"
	multiplicationEnd = "/" + matrixMultiply
)

// tensor is an array of floats.
type tensor struct {
	shape  []int
	values []float32
}

// readWeights returns the tensors of a BERT model by the names that PyTorch gives them. In ONNX the matrix of a linear
// map is the second input of a node named after the map, and transposed.
func readWeights(model []byte) (map[string]tensor, error) {
	stored, nodes := map[string]tensor{}, [][]byte{}
	err := fields(model, func(field protowire.Number, _ uint64, graph []byte) error {
		if field != modelGraph {
			return nil
		}
		return fields(graph, func(field protowire.Number, _ uint64, part []byte) error {
			switch field {
			case graphNode:
				nodes = append(nodes, part)
			case graphInitializer:
				name, t, err := readTensor(part)
				if t.values != nil {
					stored[name] = t
				}
				return err
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	weights := map[string]tensor{}
	for name, t := range stored {
		if strings.HasPrefix(name, "embeddings.") || strings.HasPrefix(name, "encoder.") {
			weights[name] = t
		}
	}
	for _, node := range nodes {
		var inputs []string
		var name, kind string
		err := fields(node, func(field protowire.Number, _ uint64, part []byte) error {
			switch field {
			case nodeInput:
				inputs = append(inputs, string(part))
			case nodeName:
				name = string(part)
			case nodeType:
				kind = string(part)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if kind != matrixMultiply || len(inputs) != 2 || len(stored[inputs[1]].shape) != 2 {
			continue
		}
		path := strings.Trim(strings.TrimSuffix(name, multiplicationEnd), "/")
		weights[strings.ReplaceAll(path, "/", ".")+".weight"] = transpose(stored[inputs[1]])
	}
	return weights, nil
}

// readTensor reads a stored tensor; one that is not of floats has no values.
func readTensor(message []byte) (name string, t tensor, err error) {
	var raw []byte
	kind := uint64(0)
	err = fields(message, func(field protowire.Number, number uint64, part []byte) error {
		switch field {
		case tensorDimensions:
			if part == nil {
				t.shape = append(t.shape, int(number))
			}
			for len(part) > 0 {
				n, size := protowire.ConsumeVarint(part)
				if size < 0 {
					return protowire.ParseError(size)
				}
				t.shape, part = append(t.shape, int(n)), part[size:]
			}
		case tensorType:
			kind = number
		case tensorName:
			name = string(part)
		case tensorRaw:
			raw = part
		}
		return nil
	})
	if err != nil || kind != typeFloat {
		return name, tensor{}, err
	}
	count := 1
	for _, n := range t.shape {
		count *= n
	}
	if len(raw) != 4*count {
		return name, tensor{}, fmt.Errorf("tensor %s has %d bytes for the shape %v", name, len(raw), t.shape)
	}
	t.values = make([]float32, count)
	for i := range t.values {
		t.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return name, t, nil
}

func transpose(t tensor) tensor {
	rows, columns := t.shape[0], t.shape[1]
	turned := tensor{[]int{columns, rows}, make([]float32, len(t.values))}
	for r := range rows {
		for c := range columns {
			turned.values[c*rows+r] = t.values[r*columns+c]
		}
	}
	return turned
}

// fields calls each for the fields of a message: with a number, or with bytes.
func fields(message []byte, each func(field protowire.Number, number uint64, part []byte) error) error {
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		message = message[size:]
		var number uint64
		var part []byte
		switch kind {
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			part, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(field, kind, message)
		}
		if size < 0 {
			return errors.Join(errors.New("the ONNX model is damaged"), protowire.ParseError(size))
		}
		if err := each(field, number, part); err != nil {
			return err
		}
		message = message[size:]
	}
	return nil
}
