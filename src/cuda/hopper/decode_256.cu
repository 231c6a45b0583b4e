#include "cuda/hopper/decode.cuh"

template void attend::cuda::launch_decode<attend::cuda::Decode256>(attend::plugin::Place,
                                                            const attend::cuda::DecodeParameters&, int);
