/**
 * Does what is asked for, as `read` finds it in the arguments: undefined where help is, an Error that says what cannot be.
 * Resolves to the exit status.
 */
export const runAsked = async <Settings>(
  help: string,
  read: () => Settings | undefined,
  work: (settings: Settings) => Promise<number>,
): Promise<number> => {
  let settings: Settings | undefined
  try {
    settings = read()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; --help says what there is`)
    return 1
  }
  if (settings) return work(settings)
  console.log(help)
  return 0
}
