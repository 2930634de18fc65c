import { expect, it } from 'vitest'
import { findNodeProblem, NODE_NEEDED } from '../../../src/base/node-version.js'

it('Node older than the needed version is a problem that names both versions', () => {
  for (const version of ['18.20.8', '20.9.0', '20.11.1'])
    expect(findNodeProblem(version)).toBe(
      `understudy requires Node ${NODE_NEEDED} or newer, but this is Node ${version}`,
    )
})

it('the needed version of Node and all newer ones are no problem', () => {
  for (const version of [NODE_NEEDED, '20.12.1', '20.20.2', '22.0.0', '24.1.0'])
    expect(findNodeProblem(version)).toBeUndefined()
})
