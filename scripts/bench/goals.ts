/** The goals. `must` and `aim` are minimums for ratios, and maximums for times and sizes. */
export interface Goal {
  readonly figure: string
  readonly name: string
  readonly unit: string
  readonly better: 'higher' | 'lower'
  readonly must: number
  readonly aim: number
  /** Whether the bounds hold on the reference machine: see `NODE_MS`. */
  readonly isScaled?: true
}

/** Name of the time of an empty Node program, which is the yardstick of scaled figures. */
export const NODE_ALONE = 'node alone: from its start to its end'
/** Time of an empty Node program on the reference machine, in milliseconds. */
export const NODE_MS = 50

const ratio = (figure: string, name: string, must: number, aim: number): Goal => ({
  figure,
  name,
  unit: '',
  better: 'higher',
  must,
  aim,
})

const atMost = (figure: string, name: string, unit: string, must: number, aim: number): Goal => ({
  figure,
  name,
  unit,
  better: 'lower',
  must,
  aim,
})

/** A time on the reference machine. A measured time is divided by that of an empty Node program. */
const wait = (figure: string, name: string, unit: string, must: number, aim: number): Goal => ({
  ...atMost(figure, name, unit, must, aim),
  isScaled: true,
})

export const GOALS = [
  ratio('1', 'KV v1 writes, 64 connections, one secondary / K', 0.5, 0.6),
  ratio('2', 'KV v1 writes, 64 connections, no secondary / K', 0.6, 0.69),
  ratio('2b', 'KV v1 writes, 64 connections / raw group commits of the same disk', 0.6, 0.75),
  ratio('3', 'KV v1 writes, one connection / raw commits of one writer', 0.35, 0.43),
  ratio('4', 'trivial request through the HTTP front / H', 0.45, 0.53),
  ratio('5', 'KV read, 64 connections / H', 0.42, 0.5),
  ratio('6', 'AppRole login / KV write', 0.45, 0.55),
  ratio('7a', 'secondary keeps up with the top rate', 0.99, 1),
  atMost('7b', 'drained after the load stops', 'ms', 50, 25),
  atMost('8a', 'lag p50 at saturation', 'ms', 3, 1.5),
  atMost('8b', 'lag p99 at saturation', 'ms', 20, 10),
  atMost('8c', 'lag p99 at half load', 'ms', 10, 5),
  ratio('9', 'backlog catch-up / top HTTP write rate', 6, 10),
  ratio('10a', 'full sync / scan rate of the engine', 0.25, 0.35),
  ratio('10b', 'foreground writes kept during a full sync', 0.45, 0.55),
  atMost('11a', 'resync of 100 differing keys: bytes in both directions', 'KB', 256, 128),
  atMost('11b', 'resync of 100 differing keys: round trips', '', 8, 7),
  atMost('12', 'growth of the primary, secondary paused 10 s at full load, beyond the ring', 'MB', 64, 32),
  atMost('13a', 'reconnect after the primary is back', 's', 1.5, 0.5),
  atMost('13b', 'frozen peer noticed at keepalive 1 s / 1 s', 's', 4, 2.5),
  wait('14a', 'start to ready', 's', 0.6, 0.4),
  atMost('14b', 'memory of an idle server', 'MB', 70, 60),
  atMost('14c', 'processor time from start to ready / processor time of an empty Node program', '', 10, 7.5),
  atMost('14d', 'memory after every request of "cpu"', 'MB', 220, 180),
  wait('15a', 'lab: up pr-dr, replicated', 's', 1.8, 1.2),
  wait('15b', 'up six, replicated', 's', 3.2, 2.2),
  wait('15c', 'status of pr-dr', 'ms', 130, 100),
  wait('15d', 'reset of pr-dr with processes', 's', 1, 0.7),
  wait('15e', 'up six --in-process', 's', 1.5, 1),
  wait('15f', 'up pr-dr --nodes 3', 's', 5, 3.5),
  wait('15g', 'planned failover by command until the first write, p50', 's', 0.25, 0.15),
  wait('15h', 'planned failover by command until the first write, p99', 's', 0.6, 0.4),
  wait('15i', 'understudy --help', 'ms', 130, 100),
  wait('15j', 'understudy version', 'ms', 130, 100),
  atMost('15k', 'idle lab of six clusters: memory of the servers', 'MB', 420, 360),
  wait('15l', 'idle lab of six clusters: processor time', '% of a core', 1, 0.5),
  atMost('15m', 'six clusters in one process: memory', 'MB', 120, 100),
  atMost('16a', 'lab daemon: memory at rest', 'MB', 30, 25),
  atMost('16b', 'lab daemon: memory while the lab replicates writes', 'MB', 45, 43),
  atMost('16c', 'lab daemon: share of the processor time while the lab replicates writes', '%', 5, 3),
  atMost('16d', 'lab daemon: loss of throughput of a pair that is connected through it', '%', 5, 3),
  wait('17a', 'library: import', 'ms', 90, 60),
  wait('17b', "import and startLab('pr-dr') in a new process", 's', 0.7, 0.45),
  wait('17c', 'lab.reset() in-process', 'ms', 50, 30),
  wait('17d', "startLab('pr-dr') again", 's', 0.25, 0.15),
  wait('17e', "startLab('dr') again", 's', 0.12, 0.08),
  wait('17f', "startLab('six') again", 's', 0.7, 0.45),
  wait('17g', "startLab('pr-dr', { simulated: true }) again", 's', 0.1, 0.06),
  atMost('18a', 'login for a service token: bytes written to the engine', 'kB', 2, 1.5),
  atMost('18b', 'login for a service token: bytes written to the block device', 'kB', 12, 8),
  atMost('19a', 'full server: start to the first secret read', 's', 3, 2),
  ratio('19b', 'KV v1 read: processor time on an empty server / on the full one', 0.8, 0.95),
  ratio('19c', 'KV v1 write: processor time on an empty server / on the full one', 0.8, 0.95),
  ratio('19d', 'AppRole login, service: processor time on an empty server / on the full one', 0.8, 0.95),
  atMost('19e', 'p99 of reads while tokens are swept', 'ms', 50, 25),
  atMost('19f', 'p99 of reads while SecretIDs are tidied', 'ms', 50, 25),
  atMost('20a', 'page: all its files, gzipped', 'KB', 120, 80),
  atMost('20b', 'page: from the end of its HTML until the diagram is drawn', 'ms', 300, 200),
  atMost('20c', 'page: memory of its script after an hour with 12 clusters and 1000 earlier events', 'MB', 64, 32),
  atMost('20d', 'page: work of its thread for one survey of 12 clusters and one event', 'ms', 50, 16),
  atMost('21a', 'image: size beyond its base', 'MB', 220, 220),
  wait('21b', 'image: from docker run until healthy', 's', 1.5, 1.5),
] as const satisfies readonly Goal[]

/**
 * Processor time of a request to bare node:http on the reference machine, in microseconds. Goals in microseconds are
 * divided by it, so that they hold on other machines as well.
 */
export const BARE_MICROS = 29

export type Figure = (typeof GOALS)[number]['figure']
