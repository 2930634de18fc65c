/**
 * Reads the arguments with `read`, and runs `work` with the result. Prints the help if `read` returns undefined, and
 * the error if it throws. Resolves to the exit status.
 */
export const runScript = async <Settings>(
  help: string,
  read: () => Settings | undefined,
  work: (settings: Settings) => Promise<number>,
): Promise<number> => {
  let settings: Settings | undefined
  try {
    settings = read()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; see --help`)
    return 1
  }
  if (settings) return work(settings)
  console.log(help)
  return 0
}
