import type { Tree } from '../../storage/key-families.js'
import { type DiffCall, treeNumber } from './diff.js'
import type { StepWriter } from './step-writer.js'

/**
 * Everything of a tree, for a store that has next to nothing: `own` is all it has of it. What it has and the primary has
 * not is deleted.
 */
export const copyTree = async (
  call: DiffCall,
  tree: Tree,
  own: ReadonlySet<string>,
  writer: StepWriter,
): Promise<void> => {
  const { connection, session, who } = call
  const request = { who: who(), session, tree: treeNumber(tree), is_whole: true, sub_pages: [] }
  const replaced = await writer.copy(tree, connection.fetchKeys(request))
  const left = [...own].filter((key) => !replaced.has(key))
  await writer.add({ mutations: left.map((key) => ({ key, value: undefined })), filtered: [] })
}
