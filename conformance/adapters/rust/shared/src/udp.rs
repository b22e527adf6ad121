//! A node on a real UDP socket, with the machine's clock.

use std::io::{self, Write};
use std::net::UdpSocket;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::plain::Object;

/// A datagram, and where it goes.
pub type Outgoing = (String, Vec<u8>);

/// A node as its socket sees it. Times are in milliseconds since its start, and never less than the one before.
pub trait Member {
    fn receive(&mut self, now: u64, from: &str, datagram: &[u8]) -> Vec<Outgoing>;
    fn advance(&mut self, now: u64) -> Vec<Outgoing>;
    fn next_timer(&self) -> Option<u64>;
}

/// A node on a terminal.
pub trait Typed: Member {
    /// Carries out a line that was typed.
    fn command(&mut self, now: u64, line: &str) -> Result<Vec<Outgoing>, String>;

    /// What the node knows.
    fn view(&self) -> Object;
}

enum Input {
    Datagram(String, Vec<u8>),
    Line(String),
}

/// The largest datagram there can be.
pub(crate) const MAX_DATAGRAM: usize = 65536;

/// How long to wait where no timer is set.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// Runs a node until `quit` is typed. Whenever what it knows has changed, or `view` is typed, it prints a line of JSON.
pub fn run(socket: UdpSocket, addr: &str, mut member: impl Typed) -> io::Result<()> {
    let start = Instant::now();
    let (sender, inputs) = mpsc::channel();
    read_lines(sender.clone());
    read_socket(socket.try_clone()?, sender);

    let mut printed = Object::new();
    loop {
        let now = start.elapsed().as_millis() as u64;
        send(&socket, member.advance(now));
        let view = member.view();
        if view != printed {
            print(addr, now, &view)?;
            printed = view;
        }
        let due = member.next_timer().map(|due| start + Duration::from_millis(due));
        let wait = due.map_or(LONG, |due| due.saturating_duration_since(Instant::now()));
        let input = match inputs.recv_timeout(wait) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the socket is gone")),
        };
        let now = start.elapsed().as_millis() as u64;
        send(&socket, member.advance(now)); // What is due comes first: the time of a node never goes back.
        match input {
            Input::Datagram(from, datagram) => send(&socket, member.receive(now, &from, &datagram)),
            Input::Line(line) => match line.trim() {
                "quit" => return Ok(()),
                "view" => printed.clear(),
                line => match member.command(now, line) {
                    Ok(outgoing) => send(&socket, outgoing),
                    Err(message) => eprintln!("{message}"),
                },
            },
        }
    }
}

fn print(addr: &str, now: u64, view: &Object) -> io::Result<()> {
    let mut line = json!({"node": addr, "t_ms": now});
    line.as_object_mut().expect("an object").extend(view.clone());
    writeln!(io::stdout(), "{line}")
}

fn read_lines(sender: Sender<Input>) {
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(Input::Line(line)).is_err() {
                return;
            }
        }
    });
}

fn read_socket(socket: UdpSocket, sender: Sender<Input>) {
    thread::spawn(move || {
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            // An error is that of an earlier datagram which could not be delivered.
            let Ok((size, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            if sender.send(Input::Datagram(from.to_string(), buffer[..size].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// A datagram that cannot be sent is lost like any other, also one to what is no address.
pub(crate) fn send(socket: &UdpSocket, outgoing: Vec<Outgoing>) {
    for (to, datagram) in outgoing {
        let _ = socket.send_to(&datagram, to);
    }
}

/// Runs a program that may end with a message about its use.
pub fn start(run: impl FnOnce() -> Result<(), String>) -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            std::process::ExitCode::from(2)
        }
    }
}

/// The socket that `--bind HOST:PORT` asks for, and its address.
pub fn bind(addr: Option<&str>) -> Result<(UdpSocket, String), String> {
    let addr = addr.ok_or("--bind HOST:PORT is needed")?;
    let socket = UdpSocket::bind(addr).map_err(|error| format!("{addr} cannot be bound: {error}"))?;
    let bound = socket.local_addr().map_err(|error| error.to_string())?;
    if bound.ip().is_unspecified() {
        Err(format!("{addr} is no address that peers can use"))
    } else {
        Ok((socket, bound.to_string()))
    }
}

/// A view, as an object.
pub fn view_of(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => unreachable!("{other} is no object"),
    }
}
