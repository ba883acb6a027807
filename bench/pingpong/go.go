// Question: what does a message cost between goroutines, with its answer? The game of game.hpp.
package main

import (
	"bench/common/program"
	"runtime"
	"time"
)

func play(balls, window, room int) (float64, int, int) {
	there, back := make(chan int, room), make(chan int, room)
	pongs := make(chan int)
	go func() {
		got := 0
		for ball := range there {
			got++
			back <- ball
		}
		pongs <- got
	}()
	start := time.Now()
	for i := 0; i < window; i++ {
		there <- i
	}
	left, pings := balls-window, 0
	for pings < balls {
		ball := <-back
		pings++
		if left > 0 {
			left--
			there <- ball + 1
		}
	}
	took := time.Since(start).Seconds()
	close(there)
	return took, pings, <-pongs
}

func main() {
	o := program.Parse()
	balls, samples, warmup := o.Number("--rounds"), o.Number("--samples"), o.Number("--warmup")
	window, room := 512, 1024
	if o.OneOf("--what", "article", "strict") == "strict" {
		window, room = 1, 0
	}
	if window > balls {
		window = balls
	}
	runtime.GOMAXPROCS(o.Number("--pes"))
	for i := 0; i < warmup+samples; i++ {
		took, pings, pongs := play(balls, window, room)
		if pings != balls || pongs != balls {
			program.Wrong("balls", int64(pongs), int64(balls))
		}
		if i >= warmup {
			program.Report(took, "")
		}
	}
}
