import { LabError } from '../../model/lab-error.js'
import { failOver, operationToken, rejoin, switchOver } from '../../operations/operations.js'
import { demote, findMissingMode, promote } from '../../operations/role-changes.js'
import type { Runbook } from '../../operations/runbook.js'
import { KIND_WORDS } from '../../model/kinds.js'
import type { PageAction, PageVerb } from '../page-facts.js'

/** Actions that change roles through API requests only, in a runbook that also supports dry runs. */

type RoleAction = (book: Runbook, action: PageAction) => Promise<void>

const of = ({ clusters: [one = '', other = ''], kind = 'dr', isForced = false }: PageAction) => ({
  ...{ one, other, kind, isForced },
})

const requireMode = async (book: Runbook, name: string, action: PageAction, wanted: string): Promise<void> => {
  const { kind } = of(action)
  const missing = await findMissingMode(book, name, kind, wanted)
  if (missing !== undefined) throw new LabError('remote', `${name} is not a ${KIND_WORDS[kind]} ${wanted}: ${missing}`)
}

const ROLE_ACTIONS = {
  promote: async (book, action) => {
    const { one, kind, isForced } = of(action)
    await requireMode(book, one, action, 'secondary')
    const token = kind === 'dr' ? await operationToken(book, one) : undefined
    await promote(book, one, kind, { token, isForced })
    book.say(`${one} is a ${KIND_WORDS[kind]} primary now`)
  },
  demote: async (book, action) => {
    const { one, kind } = of(action)
    await requireMode(book, one, action, 'primary')
    await demote(book, one, kind)
    book.say(`${one} is a ${KIND_WORDS[kind]} secondary now and follows nobody`)
  },
  failover: async (book, action) => {
    const { one: lost, other: to, isForced } = of(action)
    await failOver(book, { lost, to, isForced })
  },
  switchover: (book, action) => switchOver(book, of(action).one, of(action).other),
  rejoin: (book, action) => rejoin(book, of(action).one, of(action).other),
  'step-down': async (book, action) => {
    const { one } = of(action)
    await book.call({ cluster: one, method: 'PUT', path: 'sys/step-down', isAuthenticated: true })
    book.say(`the active node of ${one} hands over`)
  },
} as const satisfies Partial<Record<PageVerb, RoleAction>>

export const findRoleAction = (verb: PageVerb): RoleAction | undefined =>
  verb in ROLE_ACTIONS ? ROLE_ACTIONS[verb as keyof typeof ROLE_ACTIONS] : undefined
