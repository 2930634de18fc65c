/** Stops this program when the process that started it ends. */
export const endWithParent = (): void => {
  if (process.connected) process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
