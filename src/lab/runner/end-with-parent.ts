/** For a program that was launched tied to another: it is told to stop when that one is gone. */
export const endWithParent = (): void => {
  if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
