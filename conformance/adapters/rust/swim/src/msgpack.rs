//! Values of Transit over MessagePack: their bytes, with the cache, and the depth to which they nest.

use shared::rejected::{Class, Rejected};

use crate::cache::{Found, Written};
use crate::forms::form_of;
use crate::uuid::Uuid;

/// How deep arrays and maps nest; the halves of a uuid do not count [SA-65].
pub const MAX_DEPTH: usize = 64;

/// What is read, before it is known what it is for. Strings have a form of Transit, and are no cache codes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Integer(i128),
    Float(f64),
    String(String),
    /// The tag of a uuid with its halves.
    Uuid(Uuid),
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

/// Reads the one value of a datagram.
pub fn read(datagram: &[u8]) -> Result<Value, Rejected> {
    let mut reader = Reader { datagram, offset: 0, cache: Found::default() };
    let value = reader.value(0, false)?;
    if reader.offset == datagram.len() { Ok(value) } else { Err(reader.reject(Class::Trailing, "bytes are left over")) }
}

const UUID_TAG: &str = "~#u";

struct Reader<'a> {
    datagram: &'a [u8],
    offset: usize,
    cache: Found,
}

impl Reader<'_> {
    fn reject(&self, class: Class, message: impl Into<String>) -> Rejected {
        Rejected::new(class, self.offset, message)
    }

    /// A value in so many arrays and maps; a string is cached otherwise if it is a key.
    fn value(&mut self, depth: usize, is_key: bool) -> Result<Value, Rejected> {
        let [head] = self.take()?;
        match head {
            0x00..=0x7f => Ok(Value::Integer(head.into())),
            0x80..=0x8f => self.map((head & 0x0f).into(), depth + 1),
            0x90..=0x9f => self.array((head & 0x0f).into(), depth + 1),
            0xa0..=0xbf => self.string((head & 0x1f).into(), is_key),
            0xc0 => Ok(Value::Nil),
            0xc2 => Ok(Value::Bool(false)),
            0xc3 => Ok(Value::Bool(true)),
            0xca => Ok(Value::Float(f32::from_be_bytes(self.take()?).into())),
            0xcb => Ok(Value::Float(f64::from_be_bytes(self.take()?))),
            0xcc => Ok(Value::Integer(self.take::<1>()?[0].into())),
            0xcd => Ok(Value::Integer(u16::from_be_bytes(self.take()?).into())),
            0xce => Ok(Value::Integer(u32::from_be_bytes(self.take()?).into())),
            0xcf => Ok(Value::Integer(u64::from_be_bytes(self.take()?).into())),
            0xd0 => Ok(Value::Integer(i8::from_be_bytes(self.take()?).into())),
            0xd1 => Ok(Value::Integer(i16::from_be_bytes(self.take()?).into())),
            0xd2 => Ok(Value::Integer(i32::from_be_bytes(self.take()?).into())),
            0xd3 => Ok(Value::Integer(i64::from_be_bytes(self.take()?).into())),
            0xd9 => {
                let size = self.size::<1>()?;
                self.string(size, is_key)
            }
            0xda => {
                let size = self.size::<2>()?;
                self.string(size, is_key)
            }
            0xdb => {
                let size = self.size::<4>()?;
                self.string(size, is_key)
            }
            0xdc => {
                let size = self.size::<2>()?;
                self.array(size, depth + 1)
            }
            0xdd => {
                let size = self.size::<4>()?;
                self.array(size, depth + 1)
            }
            0xde => {
                let size = self.size::<2>()?;
                self.map(size, depth + 1)
            }
            0xdf => {
                let size = self.size::<4>()?;
                self.map(size, depth + 1)
            }
            0xe0..=0xff => Ok(Value::Integer((head as i8).into())),
            _ => Err(self.reject(Class::BadType, format!("{head:02x} is no type of Transit"))),
        }
    }

    fn array(&mut self, size: usize, depth: usize) -> Result<Value, Rejected> {
        self.check_nesting(size, depth)?;
        let mut items = Vec::new();
        while items.len() < size {
            let is_uuid = size == 2 && is_uuid_tag(items.first());
            if is_uuid {
                return self.halves();
            }
            items.push(self.value(depth, false)?);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, size: usize, depth: usize) -> Result<Value, Rejected> {
        self.check_nesting(size, depth)?;
        let mut entries = Vec::new();
        for _ in 0..size {
            let key = self.value(depth, true)?;
            if size == 1 && is_uuid_tag(Some(&key)) {
                return self.halves();
            }
            entries.push((key, self.value(depth, false)?));
        }
        Ok(Value::Map(entries))
    }

    /// The array behind the tag of a uuid: two integers of MessagePack, signed or unsigned [SA-63].
    fn halves(&mut self) -> Result<Value, Rejected> {
        let tag_depth = MAX_DEPTH - 1; // The halves do not count, so they may be at any depth; what is in them may not nest.
        match self.value(tag_depth, false)? {
            Value::Array(halves) => match halves[..] {
                [Value::Integer(high), Value::Integer(low)] => {
                    Ok(Value::Uuid(Uuid::from_halves(high as u64, low as u64)))
                }
                _ => Err(self.reject(Class::BadValue, "a uuid has two halves")),
            },
            _ => Err(self.reject(Class::BadValue, "a uuid has two halves")),
        }
    }

    /// What promises more than there is costs no memory.
    fn check_nesting(&self, size: usize, depth: usize) -> Result<(), Rejected> {
        if depth > MAX_DEPTH {
            return Err(self.reject(Class::TooLarge, format!("nested more than {MAX_DEPTH} deep")));
        }
        self.check_left(size)
    }

    fn check_left(&self, size: usize) -> Result<(), Rejected> {
        let left = self.datagram.len() - self.offset;
        if size <= left {
            Ok(())
        } else {
            Err(self.reject(Class::Truncated, format!("need {size} bytes, have {left}")))
        }
    }

    fn string(&mut self, size: usize, is_key: bool) -> Result<Value, Rejected> {
        let start = self.offset;
        let bad = |message: String| Rejected::new(Class::BadValue, start, message);
        let bytes = self.slice(size)?.to_vec();
        let string = String::from_utf8(bytes).map_err(|_| bad("a string that is no UTF-8".into()))?;
        let written = format!("{string:?}");
        let resolved =
            self.cache.resolve(string, is_key).ok_or_else(|| bad(format!("{written} stands for nothing")))?;
        match form_of(&resolved) {
            Some(_) => Ok(Value::String(resolved)),
            None => Err(bad(format!("{written} is no form of Transit"))),
        }
    }

    fn size<const N: usize>(&mut self) -> Result<usize, Rejected> {
        let bytes: [u8; N] = self.take()?;
        Ok(bytes.iter().fold(0, |size, byte| size << 8 | usize::from(*byte)))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Rejected> {
        Ok(self.slice(N)?.try_into().expect("a slice of that size"))
    }

    fn slice(&mut self, size: usize) -> Result<&[u8], Rejected> {
        self.check_left(size)?;
        self.offset += size;
        Ok(&self.datagram[self.offset - size..self.offset])
    }
}

fn is_uuid_tag(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::String(string)) if string == UUID_TAG)
}

/// Writes canonical bytes [SA-61].
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
    cache: Written,
}

impl Writer {
    pub fn nil(&mut self) {
        self.bytes.push(0xc0);
    }

    pub fn bool(&mut self, value: bool) {
        self.bytes.push(if value { 0xc3 } else { 0xc2 });
    }

    /// The shortest form, unsigned if it is not negative.
    pub fn integer(&mut self, value: i128) {
        match value {
            0..=0x7f => self.bytes.push(value as u8),
            0x80..=0xff => self.head(0xcc, &(value as u8).to_be_bytes()),
            0x100..=0xffff => self.head(0xcd, &(value as u16).to_be_bytes()),
            0x1_0000..=0xffff_ffff => self.head(0xce, &(value as u32).to_be_bytes()),
            0x1_0000_0000.. => self.head(0xcf, &(value as u64).to_be_bytes()),
            -0x20..=-1 => self.bytes.push(value as i8 as u8),
            -0x80..=-0x21 => self.head(0xd0, &(value as i8).to_be_bytes()),
            -0x8000..=-0x81 => self.head(0xd1, &(value as i16).to_be_bytes()),
            -0x8000_0000..=-0x8001 => self.head(0xd2, &(value as i32).to_be_bytes()),
            _ => self.head(0xd3, &(value as i64).to_be_bytes()),
        }
    }

    /// Eight bytes.
    pub fn float(&mut self, value: f64) {
        self.head(0xcb, &value.to_be_bytes());
    }

    /// A string as Transit writes it, or its cache code [SA-62].
    pub fn string(&mut self, string: &str, is_key: bool) {
        let written = self.cache.shorten(string, is_key);
        match written.len() {
            size @ 0..=31 => self.bytes.push(0xa0 | size as u8),
            size @ 32..=0xff => self.head(0xd9, &(size as u8).to_be_bytes()),
            size @ 0x100..=0xffff => self.head(0xda, &(size as u16).to_be_bytes()),
            size => self.head(0xdb, &(size as u32).to_be_bytes()),
        }
        self.bytes.extend(written.bytes());
    }

    pub fn uuid(&mut self, uuid: Uuid) {
        self.array(2);
        self.string(UUID_TAG, false);
        self.array(2);
        for half in uuid.halves() {
            self.integer(half.into());
        }
    }

    /// The head of an array; its items follow.
    pub fn array(&mut self, size: usize) {
        self.collection(size, 0x90, 0xdc);
    }

    /// The head of a map; its keys and values follow.
    pub fn map(&mut self, size: usize) {
        self.collection(size, 0x80, 0xde);
    }

    fn collection(&mut self, size: usize, short: u8, long: u8) {
        match size {
            0..=15 => self.bytes.push(short | size as u8),
            16..=0xffff => self.head(long, &(size as u16).to_be_bytes()),
            _ => self.head(long + 1, &(size as u32).to_be_bytes()),
        }
    }

    fn head(&mut self, head: u8, rest: &[u8]) {
        self.bytes.push(head);
        self.bytes.extend(rest);
    }
}
