/** Validation of certificate chains of TLS clients (RFC 5280, 6.1), without policies. */
import type { CertificateFacts } from './certificate-facts.js'
import { permitsNames } from './name-constraints.js'
import { isIssuedBy } from './x509-parsing.js'

interface ChainOptions {
  /** The trusted authorities. */
  readonly roots: readonly CertificateFacts[]
  /** Certificates that may be between the leaf and a root. */
  readonly intermediates: readonly CertificateFacts[]
  readonly nowMs: number
}

interface Step {
  readonly facts: CertificateFacts
  readonly below: Step | undefined
  /** Number of certificates below, without the leaf. */
  readonly depth: number
}

/**
 * Returns a valid chain from the leaf to a root; undefined if there is none. Visits each certificate once, on its
 * shortest path, so that a client cannot cause more signature checks than it sends certificates.
 */
export const findChain = (
  leaf: CertificateFacts,
  { roots, intermediates, nowMs }: ChainOptions,
): readonly CertificateFacts[] | undefined => {
  if (!isUsable(leaf, nowMs)) return undefined
  const steps: Step[] = [{ facts: leaf, below: undefined, depth: -1 }]
  const unvisited = new Set(intermediates)
  // The iteration includes the steps that it adds.
  for (const step of steps) {
    const { facts } = step
    if (roots.some((root) => isSame(root, facts))) return chainOf(step)
    const above = (issuer: CertificateFacts): Step | undefined => {
      const depth = step.depth + 1
      const isLongEnough = issuer.pathLength === undefined || depth <= issuer.pathLength
      const canIssue = isLongEnough && issuer.certificate.ca && isUsable(issuer, nowMs) && permits(issuer, step)
      const isIssuer = canIssue && isIssuedBy(facts.certificate, issuer.certificate)
      return isIssuer ? { facts: issuer, below: step, depth } : undefined
    }
    const root = roots.map(above).find((found) => found !== undefined)
    if (root) return chainOf(root)
    for (const issuer of unvisited) {
      const found = above(issuer)
      if (!found) continue
      unvisited.delete(issuer)
      steps.push(found)
    }
  }
  return undefined
}

/** Returns whether the name constraints of an issuer permit the names of all certificates below it. */
const permits = ({ nameConstraints }: CertificateFacts, step: Step): boolean =>
  nameConstraints === undefined || chainOf(step).every((facts) => permitsNames(nameConstraints, facts))

/** Returns whether a certificate is valid now, and may be part of the chain of a TLS client. */
export const isUsable = ({ certificate, defect }: CertificateFacts, nowMs: number): boolean =>
  defect === undefined &&
  Date.parse(certificate.validFrom) <= nowMs &&
  nowMs <= Date.parse(certificate.validTo) &&
  isForClients(certificate.keyUsage)

const [ANY_USE, CLIENT_USE] = ['2.5.29.37.0', '1.3.6.1.5.5.7.3.2']

/** Returns whether the extended key usages permit TLS clients. Undefined permits all uses. */
export const isForClients = (usages: readonly string[] | undefined): boolean =>
  usages === undefined || usages.includes(ANY_USE) || usages.includes(CLIENT_USE)

export const isSame = (one: CertificateFacts, other: CertificateFacts): boolean =>
  one.certificate.raw.equals(other.certificate.raw)

const chainOf = (step: Step): CertificateFacts[] => [...(step.below ? chainOf(step.below) : []), step.facts]
