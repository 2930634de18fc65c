const RESERVED = new Set(['root', 'sys', 'audit', 'auth', 'cubbyhole', 'identity'])

/**
 * Returns the path of a namespace without a leading slash and with a trailing slash, such as `ns1/child/`. Returns the
 * empty string for the root namespace.
 */
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
