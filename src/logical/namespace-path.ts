const RESERVED = new Set(['root', 'sys', 'audit', 'auth', 'cubbyhole', 'identity'])

/** `ns1/child` of `/ns1/child/`, with a trailing slash; empty for the root namespace. */
export const normalizeNamespacePath = (text: string): string => {
  const trimmed = text.replace(/^\/+|\/+$/g, '')
  return trimmed === '' || trimmed === 'root' ? '' : `${trimmed}/`
}

/** Whether a normalized path can be that of a namespace, apart from the root namespace. */
export const isNamespacePath = (path: string): boolean =>
  path !== '' &&
  !/\s/.test(path) &&
  path
    .slice(0, -1)
    .split('/')
    .every((part) => part !== '' && !RESERVED.has(part))
