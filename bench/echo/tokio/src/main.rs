//! echo in tokio: a task for each connection, on the current-thread runtime.

use std::env;
use std::fmt::Display;
use std::io::Write;
use std::process::{exit, Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const MESSAGE_BYTES: usize = 64;

fn end(status: i32, text: impl Display) -> ! {
    eprintln!("echo_tokio: {text}");
    exit(status)
}

struct Options {
    connections: usize,
    messages: usize,
    samples: usize,
    warmup: usize,
}

fn parse() -> Options {
    let mut o = Options { connections: 1000, messages: 100, samples: 5, warmup: 1 };
    let words: Vec<String> = env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let bad = || -> ! { end(2, format!("bad option or value: {}", pair.join(" "))) };
        let value: usize = pair.get(1).and_then(|v| v.parse().ok()).unwrap_or_else(|| bad());
        match pair[0].as_str() {
            "--table" => o.connections = value,
            "--rounds" => o.messages = value,
            "--samples" => o.samples = value,
            "--warmup" => o.warmup = value,
            "--pes" => {} // one thread
            _ => bad(),
        }
    }
    o
}

/// Of all threads, in seconds, in the kernel too.
fn processor_now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn allow_descriptors(connections: usize) {
    let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut files);
        files.rlim_cur = files.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &files);
    }
    if files.rlim_cur < connections as u64 + 64 {
        let given = files.rlim_cur;
        end(3, format!("absent: {connections} connections wanted, the system gives {given} descriptors"));
    }
}

/// Those of client.hpp, which wait for a byte, and end with status 0.
fn clients(port: u16, o: &Options) -> Child {
    let program = env::current_exe().unwrap().with_file_name("echo_clients");
    let numbers = [("--port", port as usize), ("--table", o.connections), ("--rounds", o.messages)];
    let words = numbers.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]);
    Command::new(program).args(words).stdin(Stdio::piped()).spawn().unwrap_or_else(|bad| end(1, bad))
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
    let mut others = clients(door.local_addr()?.port(), o);
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
    allow_descriptors(o.connections);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    for round in 0..o.warmup + o.samples {
        let seconds = runtime.block_on(sample(&o)).unwrap_or_else(|bad| end(1, bad));
        if round >= o.warmup {
            println!("{{\"seconds\": {seconds:.9}, \"checked\": true}}");
        }
    }
}
