/** One line of the text format of Prometheus. */
interface Series {
  readonly value: number
  readonly text: string
}

/** Series of a metric that have these labels, maybe among others. */
export const findSeries = (text: string, name: string, labels: Readonly<Record<string, string>>): Series[] =>
  text.split('\n').flatMap((line) => {
    const [, metric, inner = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line) ?? []
    if (metric !== name || value === undefined) return []
    const has = (key: string, wanted: string) => inner.includes(`${key}="${wanted}"`)
    if (!Object.entries(labels).every(([key, wanted]) => has(key, wanted))) return []
    return [{ value: Number(value), text: line }]
  })
