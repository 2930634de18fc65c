import { expect, test } from 'vitest'
import { Acl } from '../../src/core/acl/acl.js'
import type { EntityView } from '../../src/core/acl/acl-pattern.js'
import { mergeRules } from '../../src/core/acl/acl-rules.js'
import { parsePolicy } from '../../src/core/acl/policy-text.js'
import type { JsonObject } from '../../src/logical/json.js'
import type { Operation } from '../../src/logical/request.js'

/** Returns the access rules of policies in HCL. The policies are named p1, p2 and so on. */
export const aclOf = (texts: string | readonly string[], entity?: EntityView): Acl => {
  const policies = [texts].flat().map((text, index) => ({ name: `p${index + 1}`, rules: parsePolicy(text).rules }))
  return new Acl(mergeRules(policies, 'root', entity))
}

export interface AclRow {
  readonly may: Operation
  readonly path: string
  readonly is: boolean
  readonly data?: JsonObject
  readonly wrapSeconds?: number
  readonly needsSudo?: boolean
}

const more = ({ data, wrapSeconds, needsSudo }: AclRow): string =>
  [data && JSON.stringify(data), wrapSeconds && `wrapped ${wrapSeconds}s`, needsSudo && 'on a sudo path']
    .filter(Boolean)
    .map((part) => `, ${part}`)
    .join('')

/** Defines one test for each row. */
export const testRows = (acl: Acl, rows: readonly AclRow[]): void => {
  for (const row of rows) {
    test(`${row.is ? 'may' : 'may not'} ${row.may} ${JSON.stringify(row.path)}${more(row)}`, () => {
      const wrap =
        row.wrapSeconds === undefined ? undefined : ({ ttlSeconds: row.wrapSeconds, format: 'token' } as const)
      const query = {
        path: row.path,
        operation: row.may,
        data: row.data ?? {},
        wrap,
        needsSudo: row.needsSudo ?? false,
      }
      expect(acl.check(query).isAllowed).toBe(row.is)
    })
  }
}
