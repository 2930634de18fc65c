/**
 * Resolves `{{identity.entity...}}` in the path of a rule. Groups are not supported, so templates with groups are never
 * resolved.
 */
import type { EntityView } from './acl-entity.js'

const TEMPLATE = /\{\{(.*?)\}\}/g

export const hasTemplate = (path: string): boolean => path.includes('{{')

/** Returns whether every opening pair of braces has its closing pair, and there are no others. */
export const isBalanced = (path: string): boolean => {
  const [before = '', ...pieces] = path.split('{{')
  return !before.includes('}}') && pieces.every((piece) => piece.split('}}').length === 2)
}

/** Replaces all templates in a text. Returns undefined if one cannot be resolved, or if unmatched braces remain. */
export const resolveTemplate = (text: string, entity: EntityView | undefined): string | undefined => {
  if (!hasTemplate(text) && !text.includes('}}')) return text
  const rest = text.replace(TEMPLATE, '')
  if (rest.includes('{{') || rest.includes('}}') || !entity) return undefined
  let isComplete = true
  const resolved = text.replace(TEMPLATE, (_, inner: string) => {
    const value = attributeOf(inner.trim(), entity)
    if (!value) isComplete = false
    return value ?? ''
  })
  return isComplete ? resolved : undefined
}

/** Returns undefined or an empty string if the entity lacks this attribute. */
const attributeOf = (name: string, entity: EntityView): string | undefined => {
  const path = name.startsWith('identity.entity.') ? name.slice('identity.entity.'.length) : ''
  if (path === 'id' || path === 'name') return entity[path]
  if (path.startsWith('metadata.')) return own(entity.metadata, path.slice('metadata.'.length))
  const [, accessor, field] = /^aliases\.([^.]+)\.(.+)$/.exec(path) ?? []
  const alias = accessor === undefined ? undefined : entity.aliases.find((one) => one.mountAccessor === accessor)
  if (!alias || field === undefined) return undefined
  if (field === 'name') return alias.name
  if (field.startsWith('custom_metadata.')) return own(alias.customMetadata, field.slice('custom_metadata.'.length))
  return field.startsWith('metadata.') ? own(alias.metadata, field.slice('metadata.'.length)) : undefined
}

const own = (record: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined
