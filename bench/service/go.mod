module colonnade/bench/service

go 1.26.0

require (
	colonnade v0.0.0
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/valyala/fasthttp v1.69.0
)

require (
	github.com/andybalholm/brotli v1.2.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
)

replace colonnade => ../../
