# attend's front door. Two targets do everything on a fresh machine: `make run` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help model run test test-full build setup asan tsan fuzz neon wheel deb rivals scale cuda gpu format image install clean

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | while IFS='	' read -r t d; do printf '  make %-10s %s\n' "$$t" "$$d"; done

run: build model ## set up, build, get the default model, and explain a sentence: make run TEXT="..." explains yours
	@build/release/attend explain $(if $(TEXT),-- "$$TEXT",)
	@build/release/attend explain -o build/attention.html $(if $(TEXT),-- "$$TEXT",)
	@echo && echo "The same in the browser, with every head and every step: build/attention.html"
	@echo "To call the program by its name, in this shell: export PATH=\"$(CURDIR)/build/release:\$$PATH\"; for good: make install"

model: ## get the default model, all-MiniLM-L6-v2, unless it is there
	@tools/setup.sh run
	@build/release/attend pull --if-missing all-MiniLM-L6-v2 >build/model.txt

test: ## set up, build, and run every test (about twenty-six minutes on two cores)
	@tools/setup.sh test
	@tools/test.sh

test-full: ## the long numerics grid, ARM under an emulator, longer fuzzing (hours)
	@tools/setup.sh full
	@tools/test.sh full

build: ## set up and build build/release/attend
	@tools/setup.sh build
	@cmake --preset release -DATTEND_TESTS=OFF > build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build --preset release

setup: ## install what building and testing need
	@tools/setup.sh test

asan: setup ## run the C++ tests under the address and undefined-behaviour sanitizers
	@tools/test.sh only asan

tsan: setup ## run the threading tests under the thread sanitizer
	@tools/test.sh only tsan

fuzz: setup ## fuzz each target for FUZZ_SECONDS (600)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/test.sh only fuzz

neon: ## build for 64-bit ARM and run the library's tests under an emulator
	@tools/setup.sh full
	@tools/test.sh only neon

wheel: setup ## build wheels of package and program under build/wheel, for the Pythons of this machine
	@tools/wheel.sh all && ls build/wheel/*.whl

deb: ## build a Debian package of the program under build/deb
	@tools/setup.sh deb
	@tools/deb.sh

rivals: ## test attend.torch, and measure attend beside PyTorch, ONNX Runtime, OpenVINO, ... (downloads several GB; run it alone)
	@tools/rivals.sh

scale: ## test attend.ray with a real Ray, and measure it beside `attend embed` (downloads 140 MB)
	@tools/scale.sh

cuda: ## build libattend_cuda.so, which computes on NVIDIA GPUs (downloads a compiler, 102 MB, unless nvcc is there)
	@tools/setup.sh cuda
	@tools/cuda.sh

gpu: cuda ## test it on the GPU of this machine, and measure it beside cuDNN if PyTorch is there
	@tools/setup.sh test
	@tools/gpu.sh

format: setup ## format the C++ sources
	@git ls-files '*.h' '*.cpp' | xargs clang-format-16 -i

image: ## write build/image, from which docker builds an image of `attend serve`
	@tools/image.sh

install: build ## install the program, library and headers under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build
