/// <reference types="node" preserve="true" />
/**
 * Classes for Testcontainers: `UnderstudyContainer` is one server, and `UnderstudyLab` is a topology on one network.
 * They require Docker and the package `testcontainers`.
 */
export { ContainerCluster } from './container-cluster.js'
export { type ContainerFaultOptions, ContainerLink } from './container-link.js'
export { StartedUnderstudyContainer, UnderstudyContainer } from './understudy-container.js'
export { StartedUnderstudyLab, UnderstudyLab, type UnderstudyLabOptions } from './understudy-lab.js'
