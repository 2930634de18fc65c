/**
 * The password policies of all namespaces. The storage key contains the namespace ID and the name, such as `root/long`.
 * Reads the storage each time, so it has no cache.
 */
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { invalidInList, LogicalError } from '../../logical/errors.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { generatePassword, parsePasswordPolicy } from './password-policy.js'

interface PolicyRecord {
  readonly text: string
}

/** The policy of passwords that secrets engines generate: 20 characters, with at least one of each kind. */
const DEFAULT_POLICY = `
length = 20
rule "charset" { charset = "abcdefghijklmnopqrstuvwxyz" min-chars = 1 }
rule "charset" { charset = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" min-chars = 1 }
rule "charset" { charset = "0123456789" min-chars = 1 }
rule "charset" { charset = "-" min-chars = 1 }`

/** Number of passwords that a new policy must produce. */
const TRIALS = 10

export class PasswordPolicies {
  readonly #storage: Storage
  readonly #random: Random

  /** `storage` contains the keys below `sys/password-policy/`. */
  constructor({ storage, random }: { readonly storage: Storage; readonly random: Random }) {
    this.#storage = storage
    this.#random = random
  }

  /** Returns the names, sorted. Names with a slash are grouped in folders, which end with a slash. */
  list(namespaceId: string): Promise<string[]> {
    return this.#storage.list(`${namespaceId}/`)
  }

  /** Returns the text of a policy. Throws LogicalError 404 if the policy does not exist. */
  require(namespaceId: string, name: string): string {
    const record = readJson<PolicyRecord>(this.#storage, `${namespaceId}/${name}`)
    if (!record) throw new LogicalError('not-found', 'policy does not exist', { wrapped: true })
    return record.text
  }

  /** Stores a policy. Rejects with LogicalError 400 if the policy is invalid, or almost no candidate matches it. */
  async put(namespaceId: string, name: string, text: string): Promise<void> {
    const policy = parsePasswordPolicy(text)
    for (let trial = 0; trial < TRIALS; trial++) {
      if (generatePassword(policy, this.#random) === undefined)
        throw invalidInList(
          `unable to generate password from provided policy in ${LIMITS.passwordCandidatesMax} attempts: are the rules impossible?`,
        )
    }
    const record: PolicyRecord = { text }
    await this.#storage.write((tx) => putJson(tx, `${namespaceId}/${name}`, record))
  }

  /** Removes a policy. Does nothing if the policy does not exist. */
  async remove(namespaceId: string, name: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(`${namespaceId}/${name}`))
  }

  /** Returns a new password; without a name, for the default policy. Throws LogicalError 404 for an unknown policy. */
  generate(namespaceId: string, name: string): string {
    const text = name === '' ? DEFAULT_POLICY : this.require(namespaceId, name)
    const password = generatePassword(parsePasswordPolicy(text), this.#random)
    if (password === undefined) throw new LogicalError('internal', 'failed to generate password from policy')
    return password
  }
}
