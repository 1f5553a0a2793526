module colonnade/reliability

go 1.26.0

require (
	colonnade v0.0.0
	github.com/anishathalye/porcupine v1.3.1
)

replace colonnade => ../
