//! Chapter code objects: the deprecated interface, which libgomp and LLVM's OpenMP runtime use.

use crate::abi::{
    CallbackData, CodeObject, CodeObjectInfo, CodeSymbol, MachineModel, Parts, Profile,
    RoundingMode, SerializeAlloc, Status, SymbolInfo, SymbolKind, SymbolLinkage,
    VariableAllocation, VariableSegment, VisitCodeSymbol,
};
use crate::arg::{AnyPlace, Out, Text, Value};
use crate::callback::stop_unless_success;
use crate::entry::{Result, callbacks, entry, gather};
use crate::executable::explain;
use crate::reader::{SharedSource, Source};
use crate::runtime::State;
use crate::state::open;
use core::ffi::{c_char, c_void};
use rukh_core::loader::{
    CodeObject as Parsed, KERNARG_SEGMENT_ALIGN, LoadError, Symbol, SymbolKind as ParsedKind,
};
use std::sync::Arc;

/// Runs an operation on the parsed code object of a handle.
fn parsed<T>(source: &SharedSource, look: impl FnOnce(&Parsed<'_>) -> Result<T>) -> Result<T> {
    look(&Parsed::parse(source.bytes()).map_err(|_| Status::INVALID_CODE_OBJECT)?)
}

/// Whether HSA shows a symbol: kernels, variables and indirect functions that others see.
fn is_shown(symbol: &Symbol<'_>) -> bool {
    symbol.is_exported()
        && matches!(
            symbol.kind,
            ParsedKind::Kernel(_) | ParsedKind::Variable | ParsedKind::IndirectFunction
        )
}

fn handle(code_object: CodeObject, symbol: &Symbol<'_>) -> Result<CodeSymbol> {
    code_object
        .parts()
        .and_then(|parts| {
            CodeSymbol::from_parts(Parts {
                sub: symbol.index,
                ..parts
            })
        })
        .ok_or(Status::INVALID_CODE_OBJECT)
}

fn find(state: &State, code_object: CodeObject, name: &str) -> Result<CodeSymbol> {
    let source = state.code_object(code_object)?;
    parsed(&source, |code| {
        let symbol = code
            .symbols()
            .find(|symbol| is_shown(symbol) && symbol.name == name)
            .ok_or(Status::INVALID_SYMBOL_NAME)?;
        handle(code_object, &symbol)
    })
}

fn symbol_info(
    code: &Parsed<'_>,
    symbol: &Symbol<'_>,
    attribute: SymbolInfo,
    place: AnyPlace,
) -> Result {
    use SymbolInfo as S;
    let variable = symbol.kind == ParsedKind::Variable;
    let kernel = match &symbol.kind {
        ParsedKind::Kernel(descriptor) => Some(descriptor),
        _ => None,
    };
    let saturate = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    match (attribute, kernel) {
        (S::Type, _) => place.put(match symbol.kind {
            ParsedKind::Kernel(_) => SymbolKind::Kernel as u32,
            ParsedKind::Variable => SymbolKind::Variable as u32,
            _ => SymbolKind::IndirectFunction as u32,
        }),
        (S::NameLength, _) => place.put(saturate(symbol.name.len() as u64)),
        (S::Name, _) => place.put_bytes(symbol.name.as_bytes()),
        (S::ModuleNameLength, _) => place.put(0u32),
        (S::ModuleName, _) => Ok(()),
        (S::Linkage, _) => place.put(SymbolLinkage::Program as u32),
        (S::IsDefinition, _) => place.put(true),
        (S::VariableAllocation, _) if variable => place.put(VariableAllocation::Agent as u32),
        (S::VariableSegment, _) if variable => place.put(match symbol.is_const {
            true => VariableSegment::Readonly as u32,
            false => VariableSegment::Global as u32,
        }),
        (S::VariableAlignment, _) if variable => place.put(saturate(symbol.align)),
        (S::VariableSize, _) if variable => place.put(saturate(symbol.size)),
        (S::VariableIsConst, _) if variable => place.put(symbol.is_const),
        (S::KernelKernargSegmentSize, Some(kernel)) => place.put(kernel.kernarg_size),
        (S::KernelKernargSegmentAlignment, Some(_)) => place.put(KERNARG_SEGMENT_ALIGN),
        (S::KernelGroupSegmentSize, Some(kernel)) => place.put(kernel.group_segment_fixed_size),
        (S::KernelPrivateSegmentSize, Some(kernel)) => place.put(kernel.private_segment_fixed_size),
        (S::KernelDynamicCallstack, Some(kernel)) => {
            place.put(kernel.properties.uses_dynamic_stack())
        }
        (S::KernelWavefrontSize, Some(kernel)) => {
            place.put(kernel.wavefront_size(code.isa().processor()))
        }
        (S::KernelCallConvention | S::IndirectFunctionCallConvention, _) => place.put(0u32),
        // What only an executable knows, or another kind of symbol has.
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

entry! {
    /// `hsa_code_object_deserialize`: takes a copy of a code object.
    fn hsa_code_object_deserialize(state; serialized_code_object: *mut c_void,
        serialized_code_object_size: usize, options: *const c_char, code_object: Out<CodeObject>) {
        let _ = options;
        let place = code_object.required()?;
        let size = serialized_code_object_size;
        if serialized_code_object.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: not null, and the specification of this function demands that it is readable for
        // `size` bytes.
        let bytes = unsafe { core::slice::from_raw_parts(serialized_code_object.cast::<u8>(), size) };
        let source = Source::copied(bytes)?;
        Parsed::parse(source.bytes())
            .map_err(|error| explain("hsa_code_object_deserialize", &LoadError::from(error)))?;
        let parts = state.code_objects.insert(Arc::new(source));
        let handle = parts.and_then(CodeObject::from_parts).ok_or(Status::OUT_OF_RESOURCES)?;
        place.put(handle);
        Ok(())
    }

    /// `hsa_code_object_destroy`.
    fn hsa_code_object_destroy(state; code_object: CodeObject) {
        let invalid = Status::INVALID_CODE_OBJECT;
        let parts = code_object.parts().ok_or(invalid)?;
        state.code_objects.remove(parts).map(drop).ok_or(invalid)
    }

    /// `hsa_code_object_get_info`: an attribute of a code object.
    fn hsa_code_object_get_info(state; code_object: CodeObject, attribute: u32, value: Value) {
        let source = state.code_object(code_object)?;
        let place = value.required()?;
        match CodeObjectInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)? {
            CodeObjectInfo::Version => place.put_text::<64>("3.0"),
            CodeObjectInfo::Type => place.put(0u32),
            CodeObjectInfo::Isa => {
                let isa = parsed(&source, |code| Ok(code.isa()))?;
                place.put(state.isa_handle(isa)?)
            }
            CodeObjectInfo::MachineModel => place.put(MachineModel::Large as u32),
            CodeObjectInfo::Profile => place.put(Profile::Base as u32),
            CodeObjectInfo::DefaultFloatRoundingMode => place.put(RoundingMode::Near as u32),
        }
    }

    /// `hsa_code_object_get_symbol`: a symbol by name.
    fn hsa_code_object_get_symbol(state; code_object: CodeObject, symbol_name: Text,
        symbol: Out<CodeSymbol>) {
        let place = symbol.required()?;
        place.put(find(&state, code_object, &symbol_name.required()?)?);
        Ok(())
    }

    /// `hsa_code_object_get_symbol_from_name`: a symbol by name; modules have no names here.
    fn hsa_code_object_get_symbol_from_name(state; code_object: CodeObject,
        module_name: *const c_char, symbol_name: Text, symbol: Out<CodeSymbol>) {
        let _ = module_name;
        let place = symbol.required()?;
        place.put(find(&state, code_object, &symbol_name.required()?)?);
        Ok(())
    }

    /// `hsa_code_symbol_get_info`: an attribute of a symbol.
    fn hsa_code_symbol_get_info(state; code_symbol: CodeSymbol, attribute: u32, value: Value) {
        let invalid = Status::INVALID_CODE_SYMBOL;
        let parts = code_symbol.parts().ok_or(invalid)?;
        let source = state.code_objects.get(Parts { sub: 0, ..parts }).ok_or(invalid)?;
        let place = value.required()?;
        let attribute = SymbolInfo::from_raw(attribute).ok_or(Status::INVALID_ARGUMENT)?;
        parsed(&source, |code| {
            let symbol = code.symbol(parts.sub).ok().flatten().filter(is_shown).ok_or(invalid)?;
            symbol_info(code, &symbol, attribute, place)
        })
    }
}

callbacks! {
    /// `hsa_code_object_serialize`: copies a code object into memory of the client's allocator.
    fn hsa_code_object_serialize(code_object: CodeObject, alloc_callback: SerializeAlloc,
        callback_data: CallbackData, options: *const c_char,
        serialized_code_object: Out<*mut c_void>, serialized_code_object_size: Out<usize>) {
        let _ = options;
        let (allocate, source, place, size_place) = gather("hsa_code_object_serialize", || {
            let source = open()?.code_object(code_object)?;
            let allocate = alloc_callback.ok_or(Status::INVALID_ARGUMENT)?;
            let place = serialized_code_object.required()?;
            Ok((allocate, source, place, serialized_code_object_size.required()?))
        })?;
        let bytes = source.bytes();
        let mut address = core::ptr::null_mut();
        // SAFETY: a function of this type, by the contract of this export.
        stop_unless_success(unsafe { allocate(bytes.len(), callback_data, &raw mut address) })?;
        if address.is_null() {
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: the allocator answered SUCCESS, so it gave as many bytes as it was asked for.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), address.cast::<u8>(), bytes.len());
        }
        place.put(address);
        size_place.put(bytes.len());
        Ok(())
    }

    /// `hsa_code_object_iterate_symbols`: shows every symbol.
    fn hsa_code_object_iterate_symbols(code_object: CodeObject, callback: VisitCodeSymbol,
        data: *mut c_void) {
        let (callback, symbols) = gather("hsa_code_object_iterate_symbols", || {
            let source = open()?.code_object(code_object)?;
            let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
            let symbols = parsed(&source, |code| {
                let shown = code.symbols().filter(is_shown);
                shown.map(|symbol| handle(code_object, &symbol)).collect::<Result<Vec<_>>>()
            })?;
            Ok((callback, symbols))
        })?;
        for symbol in symbols {
            // SAFETY: a function of this type, by the contract of this export.
            stop_unless_success(unsafe { callback(code_object, symbol, data) })?;
        }
        Ok(())
    }
}
