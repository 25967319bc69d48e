// The options that layers of a graph neural network have in common, whatever the layer itself is.
// Knows no libtorch: the command line reads it. hidden_layer.h does what they say.
#pragma once

#include <cstdint>

#include "common/program/options.h"

namespace halograph {

enum class Normalization : uint8_t { kNone, kLayer, kBatch };

struct LayerOptions {
  int64_t hidden = 256;
  double dropout = 0.5;      // on the outputs of every layer but the last
  double input_dropout = 0;  // on the inputs of the nodes
  bool residual = false;     // of hidden layers
  Normalization norm = Normalization::kNone;
  int64_t ngnn = 0;  // dense layers inside each hidden layer

  // Of a model that has hidden layers.
  void AddLayerRows(OptionTable& table) {
    table.Add("hidden", &hidden, "width of the hidden layers").Range(1, 1 << 16).AllRanks();
    table.Add("dropout", &dropout, "share of a hidden layer's values that a step leaves out")
        .AtLeast(0)
        .Below(1)
        .AllRanks();
    AddInputRows(table);
    table.Add("residual", &residual, "add to a hidden layer's output what it reads of the node")
        .AllRanks();
    table
        .AddChoice("norm", &norm,
                   {{"none", Normalization::kNone},
                    {"layer", Normalization::kLayer},
                    {"batch", Normalization::kBatch}},
                   "normalise each hidden layer's rows (layer) or columns (batch)")
        .AllRanks();
    table.Add("ngnn", &ngnn, "dense layers inside each hidden layer (NGNN)")
        .Range(0, 16)
        .AllRanks();
  }
  // Of any model.
  void AddInputRows(OptionTable& table) {
    table.Add("input-dropout", &input_dropout, "share of the inputs' values that a step leaves out")
        .AtLeast(0)
        .Below(1)
        .AllRanks();
  }
};

}  // namespace halograph
