//! A node on a real UDP socket inside of another program, which asks it from time to time.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::udp::{LONG, MAX_DATAGRAM, Member, send};

/// A node that runs in a thread of its own until it is dropped.
pub struct Served<M> {
    running: Arc<Running<M>>,
    thread: Option<JoinHandle<()>>,
}

struct Running<M> {
    socket: UdpSocket,
    addr: SocketAddr,
    start: Instant,
    member: Mutex<M>,
    is_over: AtomicBool,
}

impl<M: Member + Send + 'static> Served<M> {
    pub fn start(socket: UdpSocket, member: M) -> io::Result<Self> {
        let (addr, start) = (socket.local_addr()?, Instant::now());
        let running =
            Arc::new(Running { socket, addr, start, member: Mutex::new(member), is_over: AtomicBool::new(false) });
        let other = Arc::clone(&running);
        Ok(Served { running, thread: Some(thread::spawn(move || other.run())) })
    }

    /// Lets the node do something, after all that is due. Its thread then waits for what is due next.
    pub fn with<T>(&self, act: impl FnOnce(&mut M, u64) -> T) -> T {
        let result = self.running.step(act);
        self.running.wake();
        result
    }
}

impl<M> Drop for Served<M> {
    fn drop(&mut self) {
        self.running.is_over.store(true, Ordering::SeqCst);
        self.running.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // an error is a panic, which the thread has reported
        }
    }
}

impl<M> Running<M> {
    fn lock(&self) -> MutexGuard<'_, M> {
        self.member.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait for a datagram, by one from the node to itself, which it ignores.
    fn wake(&self) {
        let _ = self.socket.send_to(&[], self.addr);
    }
}

impl<M: Member> Running<M> {
    fn step<T>(&self, act: impl FnOnce(&mut M, u64) -> T) -> T {
        let (mut member, now) = (self.lock(), self.start.elapsed().as_millis() as u64);
        send(&self.socket, member.advance(now)); // What is due comes first: the time of a node never goes back.
        act(&mut member, now)
    }

    fn run(&self) {
        let mut buffer = vec![0; MAX_DATAGRAM];
        while !self.is_over.load(Ordering::SeqCst) {
            let due = self.step(|member, _| member.next_timer());
            let due = due.map_or(LONG, |due| (self.start + Duration::from_millis(due)) - Instant::now());
            let wait = due.clamp(Duration::from_millis(1), LONG);
            self.socket.set_read_timeout(Some(wait)).expect("it is not zero");
            match self.socket.recv_from(&mut buffer) {
                Ok((size, from)) if from != self.addr => {
                    let outgoing = self.step(|member, now| member.receive(now, &from.to_string(), &buffer[..size]));
                    send(&self.socket, outgoing);
                }
                _ => {} // the time is over, or an earlier datagram could not be delivered
            }
        }
    }
}
