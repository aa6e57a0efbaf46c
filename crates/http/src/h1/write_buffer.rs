//! The buffer in which the requests of a shard are encoded.

use std::cell::RefCell;

/// A buffer for one request at a time. It is back before the response comes, so that all users write from the same
/// memory, whatever their number.
#[derive(Debug, Default)]
pub(crate) struct WriteBuffer(RefCell<Vec<u8>>);

/// A request, encoded in the buffer, which goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct EncodedRequest<'a> {
    pub(crate) bytes: Vec<u8>,
    /// The offset of the body, if it is sent only after '100 Continue'.
    pub(crate) body_at: Option<usize>,
    /// Until it is given back.
    buffer: Option<&'a WriteBuffer>,
}

impl EncodedRequest<'_> {
    /// Gives the buffer back, once the request is sent.
    pub(super) fn release(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            buffer.0.replace(std::mem::take(&mut self.bytes));
        }
    }
}

impl WriteBuffer {
    /// Takes the buffer for a request; empty, and a new one if another request is just being written.
    pub(crate) fn take(&self) -> EncodedRequest<'_> {
        let mut bytes = self.0.take();
        bytes.clear();
        EncodedRequest {
            bytes,
            body_at: None,
            buffer: Some(self),
        }
    }
}

impl Drop for EncodedRequest<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_the_memory_of_the_one_before() {
        let buffer = WriteBuffer::default();
        let mut request = buffer.take();
        request.bytes.extend_from_slice(b"GET / HTTP/1.1\r\n");
        let place = request.bytes.as_ptr();
        drop(request);
        let request = buffer.take();
        assert_eq!((request.bytes.as_ptr(), request.bytes.len()), (place, 0));
        assert_eq!(buffer.take().bytes.capacity(), 0, "it is in use");
    }
}
