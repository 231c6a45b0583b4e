// The whole public API.
#pragma once

#include <attend/attention.h>
#include <attend/attention_backward.h>
#include <attend/cache.h>
#include <attend/checkpoint.h>
#include <attend/dtype.h>
#include <attend/encoder.h>
#include <attend/file_error.h>
#include <attend/gelu.h>
#include <attend/isa.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/model_config.h>
#include <attend/model_files.h>
#include <attend/multi_head.h>
#include <attend/pooling.h>
#include <attend/positions.h>
#include <attend/reference.h>
#include <attend/save.h>
#include <attend/softmax.h>
#include <attend/stage.h>
#include <attend/tensor.h>
#include <attend/threads.h>
#include <attend/tokenizer.h>
#include <attend/version.h>
#include <attend/weights.h>
