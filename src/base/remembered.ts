interface Cache<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** Returns the value of a key in a cache. If the key has no value, adds the value that `make` returns. */
export const remembered = <K, V>(cache: Cache<K, V>, key: K, make: () => V): V => {
  const known = cache.get(key)
  if (known !== undefined) return known
  const made = make()
  cache.set(key, made)
  return made
}
