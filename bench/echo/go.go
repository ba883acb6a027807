// echo in Go: a goroutine for each connection, on one processor.
package main

import (
	"bench/common/program"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
)

const messageBytes = 64

func sample(connections, messages int) float64 {
	door, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		program.Fail(err)
	}
	others, begin := program.Asking("echo_clients", "--port", fmt.Sprint(door.Addr().(*net.TCPAddr).Port),
		"--table", fmt.Sprint(connections), "--rounds", fmt.Sprint(messages))
	var left, waiting atomic.Int64
	left.Store(int64(connections * messages * messageBytes))
	var end float64
	var all sync.WaitGroup
	all.Add(connections)
	for i := 0; i < connections; i++ {
		peer, err := door.Accept()
		if err != nil {
			program.Fail(err)
		}
		go func() {
			defer all.Done()
			defer peer.Close()
			buffer := make([]byte, 4096)
			waiting.Add(1)
			for {
				come, err := peer.Read(buffer)
				if err == io.EOF {
					return
				}
				if err == nil {
					_, err = peer.Write(buffer[:come])
				}
				if err != nil {
					program.Fail(err)
				}
				if left.Add(-int64(come)) == 0 {
					end = program.ProcessorNow()
				}
			}
		}()
	}
	door.Close()
	for waiting.Load() < int64(connections) {
		runtime.Gosched()
	}
	start := program.ProcessorNow()
	if _, err := begin.Write([]byte("g")); err != nil {
		program.Fail(err)
	}
	all.Wait()
	if err := others.Wait(); err != nil {
		program.Wrong("the clients' exit status", int64(others.ProcessState.ExitCode()), 0)
	}
	return end - start
}

func main() {
	options := program.Parse()
	connections, messages := options.Number("--table"), options.Number("--rounds")
	program.AllowDescriptors(connections)
	runtime.GOMAXPROCS(1)
	samples := options.Number("--samples")
	for i := -options.Number("--warmup"); i < samples; i++ {
		seconds := sample(connections, messages)
		if i >= 0 {
			program.Report(seconds, "")
		}
	}
}
