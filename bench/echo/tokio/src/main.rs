//! echo in tokio: a task for each connection, on the current-thread runtime.

use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

#[path = "../../../common/tokio.rs"]
mod asker;
use asker::end;

const MESSAGE_BYTES: usize = 64;

struct Options {
    connections: usize,
    messages: usize,
    samples: usize,
    warmup: usize,
}

fn parse() -> Options {
    let mut o = Options { connections: 1000, messages: 100, samples: 5, warmup: 1 };
    asker::parse(&mut [
        ("--table", &mut o.connections),
        ("--rounds", &mut o.messages),
        ("--samples", &mut o.samples),
        ("--warmup", &mut o.warmup),
    ]);
    o
}

/// Of all threads, in seconds, in the kernel too.
fn processor_now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

struct Counts {
    left: AtomicUsize,
    waiting: AtomicUsize,
    end: AtomicU64, // bits of a number of seconds
}

async fn serve(mut peer: TcpStream, all: Arc<Counts>) -> std::io::Result<()> {
    let mut buffer = [0u8; 4096];
    all.waiting.fetch_add(1, Relaxed);
    loop {
        let come = peer.read(&mut buffer).await?;
        if come == 0 {
            return Ok(());
        }
        peer.write_all(&buffer[..come]).await?;
        if all.left.fetch_sub(come, Relaxed) == come {
            all.end.store(processor_now().to_bits(), Relaxed);
        }
    }
}

async fn sample(o: &Options) -> std::io::Result<f64> {
    // TcpListener::bind() queues so few that clients' connections are dropped, and tried again after a second.
    let socket = TcpSocket::new_v4()?;
    socket.bind("127.0.0.1:0".parse().unwrap())?;
    let door = socket.listen(4096)?;
    let mut others = asker::asking(
        "echo_clients",
        &[("--port", door.local_addr()?.port().into()), ("--table", o.connections), ("--rounds", o.messages)],
    );
    let all = Arc::new(Counts {
        left: AtomicUsize::new(o.connections * o.messages * MESSAGE_BYTES),
        waiting: AtomicUsize::new(0),
        end: AtomicU64::new(0),
    });
    let mut tasks = Vec::new();
    for _ in 0..o.connections {
        let (peer, _) = door.accept().await?;
        peer.set_nodelay(true)?;
        tasks.push(tokio::spawn(serve(peer, all.clone())));
    }
    while all.waiting.load(Relaxed) < o.connections {
        tokio::task::yield_now().await;
    }
    let begin = processor_now();
    others.stdin.take().unwrap().write_all(b"g")?;
    for task in tasks {
        task.await.unwrap()?;
    }
    let status = others.wait()?;
    if !status.success() {
        end(1, format!("wrong answer: the clients' exit status is {status}, expected 0"));
    }
    Ok(f64::from_bits(all.end.load(Relaxed)) - begin)
}

fn main() {
    let o = parse();
    asker::allow_descriptors(o.connections);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    for round in 0..o.warmup + o.samples {
        let seconds = runtime.block_on(sample(&o)).unwrap_or_else(|bad| end(1, bad));
        if round >= o.warmup {
            println!("{{\"seconds\": {seconds:.9}, \"checked\": true}}");
        }
    }
}
