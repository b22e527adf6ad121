//! Messages and their bytes.

use shared::rejected::{Class, Rejected};

use crate::text::{MAX_TEXT, Text};

/// An entry of a digest: a peer and the version at which it is known [B-23].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub addr: Text,
    pub version: u64,
}

/// An entry of a delta: a pair of a peer, with its version [B-45].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub addr: Text,
    pub key: Text,
    pub value: Text,
    pub version: u64,
}

/// One datagram is one message [B-41].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    DigestRequest(Vec<Digest>),
    DigestResponse(Vec<Digest>),
    Delta(Vec<Entry>),
}

/// The size of the type byte [B-40], which counts towards the payload limit [BA-05].
pub const TYPE_SIZE: usize = 1;

const VERSION_SIZE: usize = 8;

impl Digest {
    /// How many bytes it takes [B-43].
    pub fn size(&self) -> usize {
        1 + self.addr.len() + VERSION_SIZE
    }
}

impl Entry {
    /// How many bytes it takes [B-45].
    pub fn size(&self) -> usize {
        3 + self.addr.len() + self.key.len() + self.value.len() + VERSION_SIZE
    }
}

/// The bytes of a message. A text of more than 255 bytes has none [B-42].
pub fn encode(message: &Message) -> Result<Vec<u8>, Rejected> {
    let mut bytes = Vec::new();
    match message {
        Message::DigestRequest(entries) => write_digest(&mut bytes, 1, entries)?,
        Message::DigestResponse(entries) => write_digest(&mut bytes, 2, entries)?,
        Message::Delta(entries) => {
            bytes.push(3);
            for entry in entries {
                write_text(&mut bytes, &entry.addr)?;
                write_text(&mut bytes, &entry.key)?;
                write_text(&mut bytes, &entry.value)?;
                bytes.extend(entry.version.to_be_bytes());
            }
        }
    }
    Ok(bytes)
}

fn write_digest(bytes: &mut Vec<u8>, kind: u8, entries: &[Digest]) -> Result<(), Rejected> {
    bytes.push(kind);
    for entry in entries {
        write_text(bytes, &entry.addr)?;
        bytes.extend(entry.version.to_be_bytes());
    }
    Ok(())
}

fn write_text(bytes: &mut Vec<u8>, text: &Text) -> Result<(), Rejected> {
    let Ok(size) = u8::try_from(text.len()) else {
        let message = format!("a text of {} bytes; it may have {MAX_TEXT}", text.len());
        return Err(Rejected::new(Class::TooLarge, bytes.len(), message));
    };
    bytes.push(size);
    bytes.extend(text.as_bytes());
    Ok(())
}

/// The message that a datagram is. What is no message is rejected whole [BA-20].
pub fn decode(datagram: &[u8]) -> Result<Message, Rejected> {
    let mut reader = Reader { datagram, offset: 0 };
    let [kind] = reader.take()?;
    match kind {
        1 => Ok(Message::DigestRequest(reader.entries(Reader::digest)?)),
        2 => Ok(Message::DigestResponse(reader.entries(Reader::digest)?)),
        3 => Ok(Message::Delta(reader.entries(Reader::entry)?)),
        _ => Err(Rejected::new(Class::BadType, 0, format!("{kind} is no type of a message"))),
    }
}

struct Reader<'a> {
    datagram: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// The entries end where the datagram ends.
    fn entries<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Rejected>) -> Result<Vec<T>, Rejected> {
        let mut entries = Vec::new();
        while self.offset < self.datagram.len() {
            entries.push(read(self)?);
        }
        Ok(entries)
    }

    fn digest(&mut self) -> Result<Digest, Rejected> {
        Ok(Digest { addr: self.text()?, version: self.version()? })
    }

    fn entry(&mut self) -> Result<Entry, Rejected> {
        Ok(Entry { addr: self.text()?, key: self.text()?, value: self.text()?, version: self.version()? })
    }

    fn text(&mut self) -> Result<Text, Rejected> {
        let [size] = self.take()?;
        Ok(Text::from(self.slice(size.into())?.to_vec()))
    }

    /// The most significant byte comes first [BA-01].
    fn version(&mut self) -> Result<u64, Rejected> {
        Ok(u64::from_be_bytes(self.take::<VERSION_SIZE>()?))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Rejected> {
        Ok(self.slice(N)?.try_into().expect("a slice of that size"))
    }

    fn slice(&mut self, size: usize) -> Result<&'a [u8], Rejected> {
        let left = &self.datagram[self.offset..];
        if left.len() < size {
            let message = format!("need {size} bytes, have {}", left.len());
            return Err(Rejected::new(Class::Truncated, self.offset, message));
        }
        self.offset += size;
        Ok(&left[..size])
    }
}
