import type { Answer, Call } from './cluster.js'

/** A value in one of the two versions of the KV engine, named by a path with the mount in front: `one/a`, `two/a`. */
const splitPath = (path: string): readonly [string, string] => {
  const at = path.indexOf('/')
  return [path.slice(0, at), path.slice(at + 1)]
}

export const putKv = (path: string, value: string): Call => {
  const [mount, name] = splitPath(path)
  if (mount === 'one') return { method: 'PUT', path, body: { value } }
  return { method: 'PUT', path: `two/data/${name}`, body: { data: { value } } }
}

export const deleteKv = (path: string): Call => {
  const [mount, name] = splitPath(path)
  return { method: 'DELETE', path: mount === 'one' ? path : `two/metadata/${name}` }
}

export const getKv = (path: string): Call => {
  const [mount, name] = splitPath(path)
  return { method: 'GET', path: mount === 'one' ? path : `two/data/${name}` }
}

/** The value that was found; undefined for none. */
export const storedValue = ({ json, status }: Answer): string | undefined => {
  if (status !== 200) return undefined
  const data = json.data as { value?: string; data?: { value?: string } }
  return data.data ? data.data.value : data.value
}
