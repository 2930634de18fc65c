import type { Bug } from '../planted.js'

/** Bugs in the roles of clusters, and in role changes. */
export const ROLE_BUGS: readonly Bug[] = [
  {
    name: 'a promotion starts no epoch',
    file: 'replication/roles/decide-secondary.ts',
    from: "    { do: 'start-epoch', kind },\n  ]\n",
    to: '  ]\n',
  },
  {
    name: 'a promotion starts no epoch of the performance set',
    file: 'replication/roles/decide-secondary.ts',
    from: "change.push({ do: 'start-epoch', kind: 'performance' })",
    to: '{}',
  },
  {
    name: 'a former primary lists no losses',
    file: 'replication/roles/keep-losses.ts',
    from: 'const surplus = findOwnSurplus(host, epochs, newer)\n  if (!surplus) return',
    to: 'const surplus = findOwnSurplus(host, epochs, newer)\n  if (surplus || !surplus) return',
  },
  {
    name: 'a former primary compares its log with a fork by index alone',
    file: 'replication/roles/keep-losses.ts',
    from: 'findSurplus(own, newer, (position) => store.isAstray(position))',
    to: 'findSurplus(own, newer, (position) => store.isAstray(position) && position.index < 0)',
    needs: ({ hasOlderDisk }) => hasOlderDisk,
  },
  {
    name: 'the list of losses starts one entry too late',
    file: 'replication/roles/lost-suffix.ts',
    from: '.filter((entry) => entry.index > index)',
    to: '.filter((entry) => entry.index > index + 1)',
  },
  {
    name: 'a fork is one entry too late',
    file: 'replication/model/epoch.ts',
    from: 'return child && { after: lastShared(own[common], child, isAstray), isWhole: true }',
    to: 'return child && { after: lastShared(own[common], child, isAstray) + 1, isWhole: true }',
  },
  {
    name: 'an overtaken primary is not fenced',
    file: 'replication/roles/fences.ts',
    from: "if (record.mode !== 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false",
    to: "if (record.mode === 'primary' || !isOvertakenBy(record.epochs, other.epochs)) return false",
  },
  {
    name: 'a demotion continues to accept writes',
    file: 'replication/roles/decide-primary.ts',
    from: "{ do: 'fence-writes', kind },",
    to: '',
  },
  {
    name: 'a successor does not call its former primary',
    file: 'replication/roles/former-primary.ts',
    from: '  if (!former) return\n',
    to: '  if (former || !former) return\n',
  },
  {
    name: 'a wipe keeps the tokens',
    file: 'server/wiring/replication-parts.ts',
    from: "records: [...records, ...(await nodeRecords(barrier.view('')))],",
    to: "records: [...records, ...(await barrier.view('').keys('sys/token/')).map((key) => ({ key, value: barrier.view('').get(key) }))],",
  },
  {
    name: 'a secondary is wiped before its activation token is validated',
    file: 'replication/paths/operate-secondary.ts',
    from: 'const joined = await redeem(context, kind, fields, undefined)',
    to:
      'const joined = await redeem(context, kind, fields, undefined).catch(async (error) => {\n' +
      "await context.host.wipeAndRestart({ keyMaterial: await context.host.exportKeyMaterial(), records: [], joining: { kind, setId: '' } })\n" +
      'throw error })',
  },
  {
    name: 'a demotion does not wait for secondaries',
    file: 'replication/roles/drain.ts',
    from: 'const isBehind = (view: SecondaryView | undefined) => (view?.appliedIndex ?? 0) < index',
    to: 'const isBehind = (_: SecondaryView | undefined) => index < 0',
  },
  {
    name: 'disabling a DR copy activates its performance role',
    file: 'replication/roles/decide-secondary.ts',
    from: "if (facts.stages.performance !== 'disabled') change.push({ do: 'become-disabled', kind: 'performance' })",
    to: '',
    needs: ({ topology }) => topology === 'both',
  },
  {
    name: 'an operation token is not required',
    file: 'replication/paths/guard.ts',
    from: "if (!isOperationAllowed(context, token, request)) throw new LogicalError('permission-denied', 'permission denied')",
    to: '',
  },
  {
    name: 'a promotion ignores announced entries',
    file: 'replication/roles/decide-secondary.ts',
    from: 'if (safety.appliedIndex < safety.announcedIndex) {',
    to: 'if (safety.appliedIndex + 5 < safety.announcedIndex) {',
    needs: ({ failovers }) => failovers.includes('unforced'),
  },
  {
    name: 'losses are listed under the wrong mount',
    file: 'replication/roles/lost-suffix.ts',
    from: 'const mount = found && paths.get(found.uuid)',
    to: 'const mount = found && [...paths.values()].at(0)',
    needs: ({ failovers }) => failovers.includes('forced'),
  },
  {
    name: 'disabling a primary deletes the data of clients',
    file: 'replication/paths/operate-primary.ts',
    from: '    await execute(context, kind, () => decideDisablePrimary(kind, context.roles.facts()))',
    to:
      "    const { storage } = context.host\n    for (const key of await storage.keys('logical/'))\n" +
      '      await storage.write((tx) => tx.delete(key)).catch(() => undefined)\n' +
      '    await execute(context, kind, () => decideDisablePrimary(kind, context.roles.facts()))',
  },
  {
    name: 'a primary stays below the abandoned epochs of its new secondary',
    file: 'replication/roles/primary-role.ts',
    from: '    await fences.goBeyond(who.ended)\n    host.log',
    to: '    host.log',
    needs: ({ topology }) => topology === 'two-copies',
  },
  {
    name: 'a former primary abandons the epochs of one kind only',
    file: 'replication/roles/presented-identity.ts',
    from: 'const ended = KINDS.flatMap((one) => (isLive(one) ? [] : ownEpochsOf(records, one)))',
    to: 'const ended = isLive(kind) ? [] : ownEpochsOf(records, kind).slice(0, 1)',
    needs: ({ topology }) => topology === 'two-copies',
  },
  {
    name: 'an operation token stays valid after a promotion',
    file: 'replication/roles/decide-secondary.ts',
    from: "  if (kind === 'dr') change.push({ do: 'delete-operation-token' })\n",
    to: '',
    needs: ({ hasRepromotion, hasCalmFailover }) => hasRepromotion && hasCalmFailover,
  },
  {
    name: 'a member of a DR set can become a performance secondary',
    file: 'replication/roles/decide-secondary.ts',
    from: "if (kind === 'performance' && facts.stages.dr !== 'disabled') return refuse(GUARDS.disableDrFirst)",
    to: '',
    needs: ({ topology }) => topology !== 'dr',
  },
  {
    name: 'the former primary is not notified',
    file: 'replication/roles/former-primary.ts',
    from: 'if (overtaker) fences.meet',
    to: 'if (overtaker && !isHeard) fences.meet',
    needs: ({ topology }) => topology === 'two-copies',
  },
  {
    name: 'a full disk stops the removal of the former primary',
    file: 'replication/roles/former-primary.ts',
    from: '      (error: unknown) => {\n',
    to: "      (error: unknown) => {\n        if (kind === 'dr') throw error\n",
    needs: ({ hasCalmFailover }) => hasCalmFailover,
  },
]
