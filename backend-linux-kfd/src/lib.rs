//! Linux KFD backend of the Rukh HSA runtime.
