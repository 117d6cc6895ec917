//! The arguments of exports that are pointers.
//!
//! Each is a transparent wrapper around the C pointer, used as the parameter's type. One comes
//! into being only as an argument of an export, and every export's safety contract is that such
//! a pointer is null or valid for what its function does with it. The methods check for null;
//! they neither assume alignment nor make references.

use crate::abi::Status;
use crate::entry::Result;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

/// A pointer that an answer is written to.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Requires a place to write to: called before anything is done that would have to be undone.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null.
    pub fn required(self) -> Result<Place<T>> {
        self.optional().ok_or(Status::INVALID_ARGUMENT)
    }

    /// The place to write to, unless the client does not want to know.
    pub fn optional(self) -> Option<Place<T>> {
        NonNull::new(self.0).map(Place)
    }
}

/// A place for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    /// Writes the answer.
    pub fn put(self, value: T) {
        // SAFETY: not null, and by the contract of the export that it is an argument of, valid
        // for a write of T. Alignment is not assumed.
        unsafe { self.0.as_ptr().write_unaligned(value) }
    }

    /// Writes one of several answers.
    pub fn put_at(self, index: usize, value: T) {
        // SAFETY: by the contract of the export that it is an argument of, the place has room for
        // as many as the client said, and callers stay below that.
        unsafe { self.0.as_ptr().add(index).write_unaligned(value) }
    }

    /// Reads what the client left there: for arguments that are both.
    pub fn get(self) -> T
    where
        T: Copy,
    {
        // SAFETY: not null; an argument that is read first is initialised by the client, by the
        // contract of the export.
        unsafe { self.0.as_ptr().read_unaligned() }
    }

    /// The address, for what is not written as a whole.
    pub fn address(self) -> *mut T {
        self.0.as_ptr()
    }
}

/// The `void *value` of an attribute query: its size follows from the attribute.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Value(*mut c_void);

impl Value {
    /// Requires a place to write to.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null.
    pub fn required(self) -> Result<AnyPlace> {
        NonNull::new(self.0.cast())
            .map(AnyPlace)
            .ok_or(Status::INVALID_ARGUMENT)
    }
}

/// A place for an attribute's value.
#[derive(Clone, Copy, Debug)]
pub struct AnyPlace(NonNull<u8>);

impl AnyPlace {
    /// Writes a value. `T` must be the type that the attribute has in C.
    pub fn put<T: Copy>(self, value: T) -> Result {
        // SAFETY: not null, and by the contract of the export that it is an argument of, valid
        // for a write of the attribute's type. Alignment is not assumed.
        unsafe { self.0.as_ptr().cast::<T>().write_unaligned(value) };
        Ok(())
    }

    /// Writes bytes: strings, whose length another attribute or the specification gives.
    pub fn put_bytes(self, bytes: &[u8]) -> Result {
        // SAFETY: as in `put`; the attribute's type is an array of this many bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.as_ptr(), bytes.len());
        }
        Ok(())
    }

    /// Writes a string into an array of `N` characters, cut so that a NUL follows, rest zero.
    pub fn put_text<const N: usize>(self, text: &str) -> Result {
        let mut field = [0u8; N];
        let mut length = text.len().min(N.saturating_sub(1));
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        field[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.put_bytes(&field)
    }
}

/// A pointer to one or more values that are read.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> From<*const T> for In<T> {
    /// Of an argument that is read and written.
    fn from(pointer: *const T) -> Self {
        Self(pointer)
    }
}

impl<T: Copy> In<T> {
    /// The value, or `None` for null.
    pub fn optional(self) -> Option<T> {
        // SAFETY: not null, and by the contract of the export that it is an argument of, valid
        // for a read of T. Alignment is not assumed.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// The value.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null.
    pub fn required(self) -> Result<T> {
        self.optional().ok_or(Status::INVALID_ARGUMENT)
    }

    /// Copies `count` values. Null is fine if there are none.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null or for more than an address space holds, OUT_OF_RESOURCES for
    /// more than there is memory.
    pub fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let fits = count
            .checked_mul(size_of::<T>())
            .is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if self.0.is_null() || !fits {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut values = Vec::new();
        values
            .try_reserve_exact(count)
            .map_err(|_| Status::OUT_OF_RESOURCES)?;
        // SAFETY: not null, and by the contract of the export that it is an argument of, valid
        // for reads of as many values as the client says. Alignment is not assumed.
        values.extend((0..count).map(|i| unsafe { self.0.add(i).read_unaligned() }));
        Ok(values)
    }

    /// Whether the client gave nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// A C string that is read.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// A copy of the string; bytes that are not UTF-8 are replaced, so that they match no name.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for null.
    pub fn required(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: not null, and by the contract of the export that it is an argument of, a string
        // that ends with NUL and does not change during the call.
        Ok(unsafe { CStr::from_ptr(self.0) }
            .to_string_lossy()
            .into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_refused_where_an_answer_is_due() {
        assert!(Out::<u32>(core::ptr::null_mut()).required().is_err());
        assert!(Value(core::ptr::null_mut()).required().is_err());
        assert!(In::<u32>(core::ptr::null()).required().is_err());
        assert!(Text(core::ptr::null()).required().is_err());
    }

    #[test]
    fn a_list_of_nothing_may_be_null_and_one_that_cannot_be_is_refused() {
        let none = In::<u64>(core::ptr::null());
        assert_eq!(none.list(0), Ok(Vec::new()));
        assert_eq!(none.list(1), Err(Status::INVALID_ARGUMENT));
        let one = 7u64;
        assert_eq!(In(&raw const one).list(1), Ok(vec![7]));
        assert_eq!(
            In(&raw const one).list(usize::MAX / 4),
            Err(Status::INVALID_ARGUMENT)
        );
        assert_eq!(
            In(&raw const one).list(1 << 58),
            Err(Status::OUT_OF_RESOURCES)
        );
    }

    #[test]
    fn a_text_is_cut_between_characters_and_ends_with_nul() {
        let mut field = [0xffu8; 8];
        let place = Value((&raw mut field).cast()).required().unwrap();
        place.put_text::<6>("abcdé").unwrap();
        assert_eq!(&field, b"abcd\0\0\xff\xff");
    }
}
