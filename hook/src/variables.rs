//! The variables of a shell. A script is followed along every way through it, and each way begins
//! with a copy of what is known: copies share their variables until one of them sets one.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use crate::limits;
use crate::value::Value;

/// What a variable may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// One of these values, one for each way that led here.
    Scalar(Vec<Value>),
    Array(Vec<Value>),
}

impl Variable {
    /// How many values it may have.
    fn alternatives(&self) -> usize {
        match self {
            Self::Scalar(values) => values.len(),
            Self::Array(_) => 1,
        }
    }

    /// With what another way left in it.
    fn joined(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Scalar(ours), Self::Scalar(theirs)) => {
                let mut all = ours.clone();
                let new = theirs.iter().filter(|value| !ours.contains(value));
                all.extend(new.cloned());
                if all.len() > limits::ALTERNATIVES {
                    all = vec![Value::unknown()];
                }
                Self::Scalar(all)
            }
            (Self::Array(ours), Self::Array(theirs)) if theirs.len() > ours.len() => other.clone(),
            _ => self.clone(),
        }
    }
}

/// Variables by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    map: Shared<BTreeMap<Rc<str>, Rc<Variable>>>,
    /// How many of them may have one of several values.
    open: usize,
}

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&Variable> {
        self.map.get(name).map(Rc::as_ref)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn insert(&mut self, name: &str, value: Variable) {
        self.put(name.into(), Rc::new(value));
    }

    /// Sets a variable, or takes it away.
    pub(crate) fn restore(&mut self, name: &str, value: Option<Variable>) {
        match value {
            Some(value) => self.insert(name, value),
            None => {
                self.remove(name);
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Variable> {
        if !self.contains(name) {
            return None;
        }
        let value = self.map.remove(name)?;
        self.open -= usize::from(value.alternatives() > 1);
        Some(Rc::unwrap_or_clone(value))
    }

    fn put(&mut self, name: Rc<str>, value: Rc<Variable>) {
        self.open += usize::from(value.alternatives() > 1);
        if let Some(old) = self.map.insert(name, value) {
            self.open -= usize::from(old.alternatives() > 1);
        }
    }

    /// The variables that may have one of several values, and how many.
    pub(crate) fn open(&self) -> impl Iterator<Item = (&Rc<str>, usize)> {
        // Most scripts have none: then no variable is looked at.
        let all = (self.open > 0).then(|| self.map.iter());
        all.into_iter()
            .flatten()
            .map(|(name, value)| (name, value.alternatives()))
            .filter(|(_, count)| *count > 1)
    }

    /// After two ways: every variable may hold what either left.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.map.is_same(&other.map) {
            return;
        }
        for (name, theirs) in other.map.iter() {
            let value = match self.map.get(name) {
                Some(ours) if Rc::ptr_eq(ours, theirs) || ours == theirs => continue,
                Some(ours) => Rc::new(ours.joined(theirs)),
                None => Rc::clone(theirs),
            };
            self.put(Rc::clone(name), value);
        }
    }
}

/// A value that its copies share until one of them changes it.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Rc<T>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Rc::new(value))
    }

    /// Whether both are still one value.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0 == other.0
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}
