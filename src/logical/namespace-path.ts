const RESERVED = new Set(['root', 'sys', 'audit', 'auth', 'cubbyhole', 'identity'])

/** Returns `ns1/child/` for `/ns1/child/` or `ns1/child`; the empty string for the root namespace. */
export const normalizeNamespacePath = (text: string): string => {
  const trimmed = text.replace(/^\/+|\/+$/g, '')
  return trimmed === '' || trimmed === 'root' ? '' : `${trimmed}/`
}

/** Returns whether a normalized path is valid for a namespace other than root. */
export const isNamespacePath = (path: string): boolean =>
  path !== '' &&
  !/\s/.test(path) &&
  path
    .slice(0, -1)
    .split('/')
    .every((part) => part !== '' && !RESERVED.has(part))
